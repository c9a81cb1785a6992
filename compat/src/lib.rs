//! Empty library: this package contains only tests.
