//! Exercises: random computations from a seed.

use quorate_sim::random::{Random, Stream};

/// A computation of about this many events, in the notation of [`super::Computation::parse`]. The same seed gives the same text.
pub fn exercise(processes: usize, events: usize, seed: u64) -> String {
    let mut random = Random::new(seed, Stream::Worlds);
    let mut lines: Vec<Vec<String>> = vec![Vec::new(); processes];
    // Messages that are in flight, with their receivers.
    let mut in_flight: Vec<(String, usize)> = Vec::new();
    let (mut internal, mut sent) = (0, 0);
    let mut draw = |most: usize| random.between(0, most as u64) as usize;
    for _ in 0..events {
        let process = draw(processes - 1);
        let arriving = in_flight.iter().position(|(_, to)| *to == process);
        match (draw(2), arriving) {
            (0 | 1, Some(arrived)) => {
                let (message, _) = in_flight.remove(arrived);
                lines[process].push(format!("{message}?"));
            }
            (2, _) if processes > 1 => {
                sent += 1;
                let other = (process + 1 + draw(processes - 2)) % processes;
                lines[process].push(format!("m{sent}!"));
                in_flight.push((format!("m{sent}"), other));
            }
            _ => {
                lines[process].push(letters(internal));
                internal += 1;
            }
        }
    }
    // Messages that are still in flight arrive at the end.
    for (message, to) in in_flight {
        lines[to].push(format!("{message}?"));
    }
    let text =
        |(process, words): (usize, Vec<String>)| format!("p{process}: {}\n", words.join(" "));
    lines.into_iter().enumerate().map(text).collect()
}

/// a, b, ..., z, aa, ab, ...
fn letters(mut number: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.push(b'a' + (number % 26) as u8);
        if number < 26 {
            break;
        }
        number = number / 26 - 1;
    }
    name.iter().rev().map(|letter| char::from(*letter)).collect()
}
