//! Starvation: a cycle in which a process waits although every action that must happen does happen.
//!
//! A cycle is fair if it takes every class of actions that is enabled in all of its states (weak fairness). Among the
//! states in which a process waits, a fair cycle exists exactly if one of their strongly connected components is fair: a
//! smaller cycle takes fewer steps, and no fewer classes are enabled in all of its states.

/// Graph of the steps between states.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// Range of the steps of each state. States are added in any order, so each range has an end.
    ranges: Vec<(u32, u32)>,
    steps: Vec<(u32, u16)>,
}

/// Class of actions that need not happen.
const FREE: u16 = u16::MAX;

impl Edges {
    /// Adds the steps of some states. `states` holds each state and the end of its steps. `steps` holds the target and
    /// the class of each step.
    pub(crate) fn add(&mut self, states: &[(u32, u32)], steps: &[(u32, u16)]) {
        let start = self.steps.len() as u32;
        self.steps.extend_from_slice(steps);
        let mut from = 0;
        for (state, end) in states {
            if self.ranges.len() <= *state as usize {
                self.ranges.resize(*state as usize + 1, (0, 0));
            }
            self.ranges[*state as usize] = (start + from, start + end);
            from = *end;
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let steps = self.steps.capacity() * size_of::<(u32, u16)>();
        (steps + self.ranges.capacity() * size_of::<(u32, u32)>()) as u64
    }

    fn of(&self, state: u32) -> &[(u32, u16)] {
        let (start, end) = self.ranges.get(state as usize).copied().unwrap_or((0, 0));
        &self.steps[start as usize..end as usize]
    }

    /// Whether the graph has a cycle.
    pub(crate) fn has_cycle(&self) -> bool {
        let mut components = Components::new(self, &|_| true, |component, edges| {
            component.len() > 1 || edges.of(component[0]).iter().any(|(to, _)| *to == component[0])
        });
        (0..self.ranges.len() as u32).any(|root| components.from(root).is_some())
    }

    /// Searches for a fair component among the states accepted by `filter`. Returns a state of it, and the states that
    /// follow on a cycle back to it, itself last.
    pub(crate) fn fair_cycle(&self, filter: impl Fn(u32) -> bool) -> Option<(u32, Vec<u32>)> {
        let fair = |component: &[u32], edges: &Self| edges.is_fair(component);
        let mut components = Components::new(self, &filter, fair);
        for root in 0..self.ranges.len() as u32 {
            if filter(root)
                && let Some(component) = components.from(root)
            {
                return Some(self.shortest_cycle(&component));
            }
        }
        None
    }

    /// Whether a strongly connected component has a step, and takes every class that is enabled in all of its states.
    fn is_fair(&self, component: &[u32]) -> bool {
        let inside = |state: &u32| component.binary_search(state).is_ok();
        let mut taken = Vec::new();
        // Classes enabled in every state so far.
        let mut always: Option<Vec<u16>> = None;
        let mut has_step = false;
        for state in component {
            let mut enabled = Vec::new();
            for (to, class) in self.of(*state) {
                if inside(to) {
                    has_step = true;
                    taken.push(*class);
                }
                if *class != FREE {
                    enabled.push(*class);
                }
            }
            always = Some(match always {
                None => enabled,
                Some(always) => always.into_iter().filter(|c| enabled.contains(c)).collect(),
            });
        }
        has_step && always.unwrap_or_default().iter().all(|class| taken.contains(class))
    }

    /// A shortest cycle of a component through its first state. It need not visit the whole component.
    fn shortest_cycle(&self, component: &[u32]) -> (u32, Vec<u32>) {
        let first = component[0];
        let mut came_from = vec![u32::MAX; component.len()];
        let mut queue = std::collections::VecDeque::from([first]);
        while let Some(state) = queue.pop_front() {
            for (to, _) in self.of(state) {
                if *to == first {
                    let mut cycle = vec![first];
                    let mut at = state;
                    while at != first {
                        cycle.push(at);
                        let place = component.binary_search(&at).expect("a state of the component");
                        at = came_from[place];
                    }
                    cycle.reverse();
                    return (first, cycle);
                }
                if let Ok(place) = component.binary_search(to)
                    && came_from[place] == u32::MAX
                {
                    came_from[place] = state;
                    queue.push_back(*to);
                }
            }
        }
        (first, Vec::new())
    }
}

/// Tarjan's algorithm for strongly connected components, without recursion.
struct Components<'e, K, W> {
    edges: &'e Edges,
    filter: &'e K,
    /// Whether a component is one to return.
    wanted: W,
    /// Discovery order of each state, from 1 on.
    discovery: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    count: u32,
}

impl<'e, K: Fn(u32) -> bool, W: Fn(&[u32], &Edges) -> bool> Components<'e, K, W> {
    fn new(edges: &'e Edges, filter: &'e K, wanted: W) -> Self {
        let n = edges.ranges.len();
        let (discovery, low, on_stack) = (vec![0; n], vec![0; n], vec![false; n]);
        Self { edges, filter, wanted, discovery, low, on_stack, stack: Vec::new(), count: 0 }
    }

    fn discover(&mut self, state: u32) {
        self.count += 1;
        self.discovery[state as usize] = self.count;
        self.low[state as usize] = self.count;
        self.on_stack[state as usize] = true;
        self.stack.push(state);
    }

    /// The first wanted component among those reachable from this state, if any.
    fn from(&mut self, root: u32) -> Option<Vec<u32>> {
        if self.discovery[root as usize] != 0 {
            return None;
        }
        self.discover(root);
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((state, step)) = path.last_mut() {
            let state = *state;
            if let Some((to, _)) = self.edges.of(state).get(*step) {
                *step += 1;
                if !(self.filter)(*to) {
                    continue;
                }
                if self.discovery[*to as usize] == 0 {
                    self.discover(*to);
                    path.push((*to, 0));
                } else if self.on_stack[*to as usize] {
                    self.low[state as usize] =
                        self.low[state as usize].min(self.discovery[*to as usize]);
                }
                continue;
            }
            path.pop();
            if let Some((above, _)) = path.last() {
                self.low[*above as usize] = self.low[*above as usize].min(self.low[state as usize]);
            }
            if self.low[state as usize] == self.discovery[state as usize] {
                let mut component = Vec::new();
                while let Some(member) = self.stack.pop() {
                    self.on_stack[member as usize] = false;
                    component.push(member);
                    if member == state {
                        break;
                    }
                }
                component.sort_unstable();
                if (self.wanted)(&component, self.edges) {
                    return Some(component);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(steps: &[(u32, u32, u16)], states: u32) -> Edges {
        let mut edges = Edges::default();
        for state in 0..states {
            let own = steps.iter().filter(|(from, ..)| *from == state);
            let own: Vec<(u32, u16)> = own.map(|(_, to, class)| (*to, *class)).collect();
            edges.add(&[(state, own.len() as u32)], &own);
        }
        edges
    }

    #[test]
    fn a_cycle_that_leaves_nothing_out_is_fair() {
        let two = edges(&[(0, 1, 5), (1, 0, 6)], 2);
        assert_eq!(two.fair_cycle(|_| true), Some((0, vec![1, 0])));
        assert_eq!(two.fair_cycle(|state| state == 0), None, "it leaves the states of that kind");
    }

    #[test]
    fn a_cycle_that_puts_something_off_for_ever_is_not_fair() {
        // The step of class 7 is enabled in both states, and leaves the cycle.
        let out = edges(&[(0, 1, 5), (1, 0, 6), (0, 2, 7), (1, 2, 7)], 3);
        assert_eq!(out.fair_cycle(|state| state < 2), None);
        // It is enabled in only one of them, so it need not be taken.
        let once = edges(&[(0, 1, 5), (1, 0, 6), (0, 2, 7)], 3);
        assert!(once.fair_cycle(|state| state < 2).is_some());
        // An action that need not happen may be postponed forever.
        let free = edges(&[(0, 1, 5), (1, 0, 6), (0, 2, FREE), (1, 2, FREE)], 3);
        assert!(free.fair_cycle(|state| state < 2).is_some());
    }
}
