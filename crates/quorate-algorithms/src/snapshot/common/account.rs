//! The account of one process: the state that snapshots record.

use quorate_core::ProcessId;
use quorate_core::snapshot::{INITIAL_BALANCE, Misuse, Transfer};

use crate::Setup;

/// The balance of one process, and the number of its transfers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::snapshot) struct Account {
    pub(in crate::snapshot) owner: ProcessId,
    pub(in crate::snapshot) n: usize,
    pub(in crate::snapshot) balance: i64,
    sent: u64,
}

impl Account {
    pub(in crate::snapshot) fn new(setup: &Setup, owner: ProcessId) -> Self {
        let balance = setup.balances.get(owner.index()).copied().unwrap_or(INITIAL_BALANCE);
        Self { owner, n: setup.n, balance: balance as i64, sent: 0 }
    }

    /// Withdraws money for a transfer, which must then be sent.
    pub(in crate::snapshot) fn withdraw(
        &mut self,
        to: ProcessId,
        amount: u64,
    ) -> Result<Transfer, Misuse> {
        if to == self.owner || to.index() >= self.n {
            return Err(Misuse::NoSuchAccount(to));
        }
        self.balance = self.balance.wrapping_sub_unsigned(amount);
        let transfer = Transfer { id: self.sent, amount };
        self.sent += 1;
        Ok(transfer)
    }

    pub(in crate::snapshot) fn deposit(&mut self, transfer: Transfer) {
        self.balance = self.balance.wrapping_add_unsigned(transfer.amount);
    }
}
