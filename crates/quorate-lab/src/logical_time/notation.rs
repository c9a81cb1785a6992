//! The notation of a computation: one process per line or, separated by `;`, on one line.
//!
//! ```text
//! p: a m! b        p does a, sends message m, and does b
//! q: m? c          q receives m and does c
//! ```
//!
//! A word that ends with `!` sends the message of that name, one that ends with `?` receives it, and any other word is an
//! internal event. A message is sent once, and received at most once by each process. `#` begins a comment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Action, EVENTS_MOST, NotAComputation, PROCESSES_MOST, Unstamped};

/// Maximum number of characters of a name.
const NAME_MOST: usize = 40;

type Processes = (Vec<String>, Vec<VecDeque<Unstamped>>);

pub(super) fn parse(text: &str) -> Result<Processes, NotAComputation> {
    let fail = |problem: String| Err(NotAComputation(problem));
    let (mut names, mut events): Processes = Default::default();
    let lines = text.lines().enumerate().flat_map(|(number, line)| {
        let line = line.split('#').next().unwrap_or("");
        line.split(';').map(move |part| (number + 1, part.trim()))
    });
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let Some((name, words)) = line.split_once(':') else {
            return fail(format!(
                "line {number}: `{}` names no process; write `p: a m!`",
                shortened(line)
            ));
        };
        let name = checked(number, name.trim())?;
        if names.contains(&name) {
            return fail(format!("line {number}: process {name} has a line already"));
        }
        let words = words.split_whitespace();
        let own: Result<VecDeque<Unstamped>, _> = words.map(|word| event(number, word)).collect();
        names.push(name);
        events.push(own?);
    }
    let count: usize = events.iter().map(VecDeque::len).sum();
    if count == 0 {
        return fail("there are no events; write `p: a m!; q: m? b`".to_owned());
    }
    if names.len() > PROCESSES_MOST || count > EVENTS_MOST {
        return fail(format!(
            "{} processes and {count} events are too many; at most {PROCESSES_MOST} and {EVENTS_MOST} are possible",
            names.len()
        ));
    }
    check_messages(&names, &events)?;
    Ok((names, events))
}

fn event(number: usize, word: &str) -> Result<Unstamped, NotAComputation> {
    let message = |name: &str| checked(number, name);
    let action = match (word.strip_suffix('!'), word.strip_suffix('?')) {
        (Some(name), _) => Action::Send(message(name)?),
        (_, Some(name)) => Action::Receive(message(name)?),
        _ => {
            checked(number, word)?;
            Action::Internal
        }
    };
    Ok((word.to_owned(), action))
}

fn checked(number: usize, name: &str) -> Result<String, NotAComputation> {
    let fits = |c: char| c.is_alphanumeric() || "-_'".contains(c);
    if name.is_empty() || name.chars().count() > NAME_MOST || !name.chars().all(fits) {
        return Err(NotAComputation(format!(
            "line {number}: `{}` is not a name; use up to {NAME_MOST} letters and digits",
            shortened(name)
        )));
    }
    Ok(name.to_owned())
}

/// Every message is sent once, by one process, and is received at most once by each other one.
fn check_messages(names: &[String], events: &[VecDeque<Unstamped>]) -> Result<(), NotAComputation> {
    let fail = |problem: String| Err(NotAComputation(problem));
    let mut senders: BTreeMap<&str, usize> = BTreeMap::new();
    for (process, own) in events.iter().enumerate() {
        for (_, action) in own {
            if let Action::Send(message) = action
                && senders.insert(message, process).is_some()
            {
                return fail(format!("message {message} is sent twice"));
            }
        }
    }
    for (process, own) in events.iter().enumerate() {
        let mut received = BTreeSet::new();
        for (_, action) in own {
            let Action::Receive(message) = action else { continue };
            let name = &names[process];
            match senders.get(message.as_str()) {
                None => return fail(format!("{name} receives {message}, which no process sends")),
                Some(sender) if *sender == process => {
                    return fail(format!("{name} receives its own message {message}"));
                }
                Some(_) if !received.insert(message) => {
                    return fail(format!("{name} receives {message} twice"));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME_MOST).collect()
}
