//! Things kept at numbered places that are used again.

/// Room for as much as waits in a small world.
const FIRST_ROOM: usize = 32;

/// A store that gives each thing a place until it is taken out.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(thing);
            return place;
        }
        if self.places.capacity() == 0 {
            self.places.reserve(FIRST_ROOM);
            self.free.reserve(FIRST_ROOM);
        }
        self.places.push(Some(thing));
        u32::try_from(self.places.len() - 1).expect("fewer than 2^32 things wait at a time")
    }

    pub(crate) fn get(&self, place: u32) -> &T {
        self.places[place as usize].as_ref().expect("only what is kept is looked at")
    }

    pub(crate) fn remove(&mut self, place: u32) -> T {
        self.free.push(place);
        self.places[place as usize].take().expect("a place is emptied once")
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}
