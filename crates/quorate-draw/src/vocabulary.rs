//! All texts of pictures, so that they can be translated.
//!
//! Texts that come from a run are not translated: names of kinds, properties and faults, message bodies, and details
//! of violations.

use std::fmt::Display;
use std::sync::Arc;

use crate::text::grouped;

macro_rules! phrases {
    ($($name:ident $id:literal $english:literal,)*) => {
        /// Text of a picture. `{words}` in braces are placeholders. Of two forms separated by `|`, the first is the
        /// singular and the second is for all other numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the English says what each is")]
        pub enum Phrase {
            $($name,)*
        }

        impl Phrase {
            /// All phrases, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Key of the phrase among the translated texts of a page.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$name => concat!("draw.", $id),)*
                }
            }

            /// English text of the phrase.
            pub fn english(self) -> &'static str {
                match self {
                    $(Self::$name => $english,)*
                }
            }
        }
    };
}

phrases! {
    Comma "comma" ",",
    Diagram "diagram" "Space-time diagram",
    Topology "topology" "Topology",
    // Activities: states of a process that last.
    Waits "waits" "waits",
    Inside "inside" "inside the critical section",
    InsideShort "inside-short" "inside",
    TakesPart "takes-part" "takes part in an election",
    Leads "leads" "leads",
    Undecided "undecided" "has proposed, has not decided",
    Works "works" "is active",
    Down "down" "down",
    // Markers: instantaneous events of a process.
    Crashes "crashes" "crashes",
    Recovers "returns" "comes back",
    NoMemory "no-memory" "no memory",
    Wins "wins" "wins the election",
    Follows "follows" "learns the leader",
    Proposes "proposes" "proposes",
    Decides "decides" "decides",
    Blocked "blocked" "is blocked",
    GivesUp "gives-up" "gives up",
    Multicasts "multicasts" "multicasts",
    Delivers "delivers" "delivers",
    SetsClock "sets" "sets its clock",
    CannotSetClock "fails" "cannot set its clock",
    Suspects "suspects" "suspects",
    Trusts "trusts" "trusts again",
    Records "records" "records its state",
    Announces "announces" "announces",
    Submits "submits" "gets a command",
    Applies "applies" "applies a command",
    Truncates "truncates" "deletes entries of its log",
    Refuses "refuses" "refuses a command",
    Timer "timer" "a timer expires",
    // The rest of the legend.
    Lost "lost" "lost",
    InFlight "open" "under way at the end",
    Partition "partition" "partition; letters name the groups",
    Flag "flag" "another fault, listed below",
    Violation "broken" "a property is broken",
    ViolationCause "culprit" "cause of the violation",
    // Tooltips.
    ActivityTitle "stay-title" "{who}: {what} from {from} until {until}",
    MarkerTitle "sign-title" "{who} {what} at {time}",
    TheEnd "the-end" "the end",
    MessageTitle "message-title" "{kind} {route}: sent at {time}, {fate}.",
    DuplicateTitle "again-title" "{kind} {route}: sent at {time}, a second time, {fate}.",
    Arrives "arrives" "arrives at {time}",
    NotDelivered "vanishes" "does not arrive: {why}",
    WhyLost "why-lost" "the link lost it",
    WhyCut "why-cut" "the link is cut",
    WhyPartition "why-partition" "a partition is between them",
    WhySendOmission "why-send-omission" "its sender omits it",
    WhyReceiveOmission "why-receive-omission" "its receiver omits it",
    WhyTreason "why-treason" "a traitor keeps it back",
    WhyReceiverDown "why-receiver-down" "its receiver is down",
    StillInFlight "still-open" "is still under way at the end",
    PartitionTitle "partition-title" "partition from {from} until {until}: {groups}",
    PartitionShort "partition-short" "partition {groups}",
    RoundEnds "round-ends" "round {round} ends",
    // Headings and notes.
    Violated "violated" "{property} violated at {time}: {detail}",
    Fault "fault" "{number}. At {time}: {what}",
    MoreFaults "more-faults" "and {count} more fault|and {count} more faults",
    Window "window" "The window from {from} to {to} of a run that ends at {end}.",
    SomeMessages "some-messages" "{drawn} of {all} messages are drawn: all that were lost or led to a violation as far as there is room, and an even choice of the others; a shorter window shows more.",
    SomeProcesses "some-processes" "{drawn} of {all} processes are drawn; {count} message to or from the others is not.|{drawn} of {all} processes are drawn; {count} messages to or from the others are not.",
    ToSelf "to-oneself" "{count} message to oneself, which takes no time, is not drawn.|{count} messages to oneself, which take no time, are not drawn.",
    Unsent "unsent" "{count} message arrived that the trace does not record as sent.|{count} messages arrived that the trace does not record as sent.",
    LeftOut "left-out" "The run goes on: {count} later record of its trace is not in the picture.|The run goes on: {count} later records of its trace are not in the picture.",
    // Text alternative of the picture.
    Description "in-words" "{processes} and {messages} from {from} to {to}, time from left to right.",
    Processes "processes" "{count} process|{count} processes",
    Messages "messages" "{count} message|{count} messages",
    Entries "entries" "{count} entry into the critical section.|{count} entries into the critical section.",
    ProcessEvents "deeds" "Processes: {what}.",
    PartitionDescription "partition-told" "At {time} a partition into {groups}.",
    // Quorums and topologies.
    QuorumOf "quorum-of" "{system}: the quorum of {who} has {size} of {all}",
    NoQuorumOf "no-quorum-of" "{system}: no quorum is left to {who}",
    InQuorum "in-quorum" "in the quorum",
    IsInQuorum "is-in-quorum" "{who} is in the quorum",
    HasFailed "has-failed" "{who} has failed",
    QuorumOwner "whose-quorum" "owner of the quorum",
    NotInQuorum "not-in-quorum" "not in it",
    Failed "failed" "failed",
    SomeNodes "some-nodes" "{drawn} of {all} processes are drawn.",
    TopologyDescription "nodes-in-words" "{count} process.|{count} processes.",
    FailedDescription "failed-in-words" "Failed: {who}.",
    NoQuorumDescription "no-quorum-in-words" "{who} has no quorum.",
    QuorumDescription "quorum-in-words" "The quorum of {who}: {members}.",
    Row "row" "row",
    Column "column" "column",
    Cluster "cluster" "cluster {number} of {who}",
    Complete "everybody" "{name}: every process communicates with every other",
    Ring "ring" "{name}: a ring of {all}",
    Server "server" "{name}: {who} serves all others",
    Tree "tree" "{name}: a tree of {all}",
    VCube "vcube" "{name}: a VCube of {all}, with the clusters of {who}",
}

/// Language of a picture. The default is English.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// Translations by phrase index. A missing one falls back to English.
    translations: Option<Arc<[Option<String>]>>,
}

impl Vocabulary {
    /// Looks up each phrase by its id. Phrases for which `find` returns `None` are English.
    pub fn new(find: impl Fn(&str) -> Option<String>) -> Self {
        let translations: Vec<Option<String>> =
            Phrase::ALL.iter().map(|phrase| find(phrase.id())).collect();
        Self { translations: Some(translations.into()) }
    }

    /// Returns a phrase without placeholders.
    pub fn text(&self, phrase: Phrase) -> &str {
        let translation = self
            .translations
            .as_ref()
            .and_then(|translations| translations[phrase as usize].as_deref());
        translation.unwrap_or(phrase.english())
    }

    /// Returns a phrase with its placeholders filled in.
    pub fn format(&self, phrase: Phrase, values: &[(&str, &dyn Display)]) -> String {
        substitute(self.text(phrase), values)
    }

    /// Returns a phrase in its singular or plural form. The placeholder `{count}` is filled with `count`.
    pub fn format_count(
        &self,
        phrase: Phrase,
        count: usize,
        values: &[(&str, &dyn Display)],
    ) -> String {
        let forms = self.text(phrase);
        let (one, many) = forms.split_once('|').unwrap_or((forms, forms));
        let number = self.count(count);
        let mut all: Vec<(&str, &dyn Display)> = vec![("count", &number)];
        all.extend_from_slice(values);
        substitute(if count == 1 { one } else { many }, &all)
    }

    /// Formats a number with grouped digits.
    pub fn count(&self, number: usize) -> String {
        grouped(number, self.text(Phrase::Comma))
    }
}

/// Text whose language is chosen when the picture is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalizedText {
    /// Text that is the same in every language.
    Plain(String),
    /// Phrase and the values of its placeholders.
    Phrase(Phrase, Vec<(&'static str, String)>),
}

impl LocalizedText {
    pub(crate) fn empty() -> Self {
        Self::Plain(String::new())
    }

    pub(crate) fn text(&self, vocabulary: &Vocabulary) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Phrase(phrase, values) => {
                let values: Vec<(&str, &dyn Display)> =
                    values.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
                vocabulary.format(*phrase, &values)
            }
        }
    }
}

/// Fills in placeholders in a single pass, because a value may contain braces.
fn substitute(text: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        whole.push_str(before);
        let Some((name, left)) = after.split_once('}') else { break };
        match values.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => whole.push_str(&value.to_string()),
            None => whole.push_str(&format!("{{{name}}}")),
        }
        rest = left;
    }
    whole.push_str(rest);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_spoken_unless_told_otherwise() {
        let some = Vocabulary::new(|id| (id == "draw.waits").then(|| "espera".to_owned()));
        assert_eq!(some.text(Phrase::Waits), "espera");
        assert_eq!(some.text(Phrase::Down), "down");
        assert_eq!(Vocabulary::default().text(Phrase::Waits), "waits");
    }

    #[test]
    fn one_and_many_are_told_apart() {
        let vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.format_count(Phrase::Messages, 1, &[]), "1 message");
        assert_eq!(vocabulary.format_count(Phrase::Messages, 2_000, &[]), "2,000 messages");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let vocabulary = Vocabulary::default();
        let filled = vocabulary.format(Phrase::Violated, &[("property", &"{time}"), ("time", &3)]);
        assert_eq!(filled, "{time} violated at 3: {detail}");
    }
}
