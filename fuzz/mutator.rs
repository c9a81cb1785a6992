//! Mutations specific to scenario files. Most of them keep the file valid, so that the fuzzer spends its time in runs
//! instead of failing at the first misplaced quote.

/// Example lines for every key, by table.
const LINES: [(&str, &[&str]); 3] = [
    (
        "",
        &[
            "algorithm = \"central\"",
            "algorithm = \"ricart-agrawala\"",
            "processes = 4",
            "seed = 7",
            "requesters = \"all\"",
            "request = [\"1@5ms\", \"?@1ms~9ms\"]",
            "repeat = 2",
            "spread = \"5ms\"",
            "section = \"1us\"",
            "think = \"2us\"",
            "delay = \"constant:1ms\"",
            "delay = \"uniform:1ms..3ms\"",
            "delay = \"exponential:1ms\"",
            "delay = \"pareto:1ms,1.5\"",
            "delay = \"log-normal:1ms,0.5\"",
            "delay = \"choice:1ms,5ms\"",
            "delay = \"list:1ms,5ms,2ms\"",
            "link-delay = [\"0-1=constant:5ms\", \"1-0=exponential:1ms\"]",
            "timing = \"rounds:1ms\"",
            "timing = \"asynchronous\"",
            "timing = \"eventually:20ms\"",
            "fifo = false",
            "handling = \"10us\"",
            "detector = \"heartbeat\"",
            "detector = \"none\"",
            "detection = \"uniform:1ms..9ms\"",
            "detection-pair = [\"0-1=constant:2ms\"]",
            "server = 1",
            "until = \"1s\"",
            "patience = \"100ms\"",
            "watch = [\"ME1\", \"ME2\", \"ME3\"]",
        ],
    ),
    (
        "[faults]",
        &[
            "crash = [\"1@1ms\", \"?@2ms~4ms\"]",
            "crash-mid = [\"2@0:1\"]",
            "recover = [\"1@9ms\", \"?@9ms:amnesia\"]",
            "omit-send = [\"0@0..2ms:0.5\"]",
            "omit-receive = [\"?@1ms\"]",
            "loss = 0.1",
            "lose = [\"0-1@2ms\"]",
            "duplication = 0.2",
            "duplicate = [\"?-?@0\"]",
            "reordering = 0.3",
            "reorder = [\"1-0@1ms\"]",
            "slow = [\"1@1ms..4ms:2ms\"]",
            "fast = [\"0@1ms:4\"]",
            "clock = [\"1@0:1.5\"]",
            "cut = [\"0-1@2ms..9ms\", \"0>2@3ms\"]",
            "partition = [\"0,1|2,3@2ms..9ms\"]",
            "suspect = [\"0-1@0..5ms\"]",
            "traitor = [\"1:random\", \"2:liar\"]",
        ],
    ),
    (
        "[expect]",
        &[
            "verdict = \"holds\"",
            "entries = 2",
            "order = [0, 1]",
            "waiting = []",
            "properties = { ME1 = \"violated\" }",
            "by-kind = { REPLY = 4 }",
        ],
    ),
];

/// Replacement numbers: ordinary ones, limits, and values beyond limits.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "8",
    "20",
    "1000",
    "0.5",
    "4294967295",
    "4611686018427387904",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073",
    "16777216",
    "-1",
];

/// Applies one to four mutations to the text.
pub(crate) fn mutate(text: &str, seed: u32) -> String {
    let mut dice = Dice(u64::from(seed));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(4) {
        match dice.below(6) {
            0..=2 => put_line(&mut lines, &mut dice),
            3 if lines.len() > 2 => {
                lines.remove(dice.below(lines.len()));
            }
            _ => put_number(&mut lines, &mut dice),
        }
    }
    lines.join("\n") + "\n"
}

/// Inserts a line for some key, or replaces the line of that key.
fn put_line(lines: &mut Vec<String>, dice: &mut Dice) {
    let (table, choices) = LINES[[0, 0, 0, 1, 1, 1, 1, 2][dice.below(8)]];
    let line = choices[dice.below(choices.len())];
    let key = line.split(' ').next().unwrap_or(line);
    let start = if table.is_empty() {
        0
    } else if let Some(header) = lines.iter().position(|line| line == table) {
        header + 1
    } else {
        lines.push(table.to_owned());
        lines.len()
    };
    let body = lines[start..].iter().take_while(|line| !line.starts_with('['));
    let known = body.map(|line| line.split(' ').next()).position(|known| known == Some(key));
    match known {
        Some(place) => line.clone_into(&mut lines[start + place]),
        None => lines.insert(start, line.to_owned()),
    }
}

/// Replaces a number by another one, with or without its unit.
fn put_number(lines: &mut [String], dice: &mut Dice) {
    if lines.is_empty() {
        return;
    }
    let line = &mut lines[dice.below(lines.len())];
    let digit = |at: usize| line.as_bytes()[at].is_ascii_digit();
    let starts: Vec<usize> =
        (0..line.len()).filter(|&at| digit(at) && (at == 0 || !digit(at - 1))).collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[dice.below(starts.len())];
    let unit = |at: usize| line.as_bytes()[at].is_ascii_lowercase();
    let mut end = start + (start..line.len()).take_while(|&at| digit(at)).count();
    if dice.below(2) == 0 {
        end += (end..line.len()).take_while(|&at| unit(at)).count();
    }
    line.replace_range(start..end, NUMBERS[dice.below(NUMBERS.len())]);
}

/// Random numbers derived from the fuzzer's seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}
