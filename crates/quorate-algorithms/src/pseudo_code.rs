//! The steps of an algorithm in pseudo-code, as in its paper, with the input that causes each.

/// A step of an algorithm. Of the steps with the same cause, the first one applies whose effect occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Cause of the step: the name of a command such as `Acquire`, or the kind of a received message such as `REQUEST`.
    pub on: &'static str,
    /// Effect by which the step is recognised: the kind of a sent message, or the name of an output such as `Entered`. Without
    /// one, the step has no effect that others could see, or all of its effects are always the same.
    pub doing: Option<&'static str>,
    /// The step in English.
    pub text: &'static str,
}

impl Step {
    /// A step that always follows this cause, or that follows it if no earlier step applies.
    pub const fn on(cause: &'static str, text: &'static str) -> Self {
        Self { on: cause, doing: None, text }
    }

    /// A step that follows this cause if it has this effect.
    pub const fn doing(cause: &'static str, effect: &'static str, text: &'static str) -> Self {
        Self { on: cause, doing: Some(effect), text }
    }
}
