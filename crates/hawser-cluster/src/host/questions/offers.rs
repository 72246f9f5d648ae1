//! What a head offers without Hawser. There is no question that changes it.

use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Size, Stop};
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::host::{OffersFile, offers};

/// The paths of tgt's, targetcli's and the NFS server's files that a head has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListOffers;

impl Ask for ListOffers {
    type Answer = Vec<String>;
    const NAME: &'static str = "list what a head offers";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ListOffers {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<String>, Declined> {
        Ok(offers::list()?)
    }
}

/// Reads one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadOffers {
    /// Its path.
    pub path: String,
}

impl Ask for ReadOffers {
    type Answer = OffersFile;
    const NAME: &'static str = "read what a head offers";
    const SIZE: Size = Size::Large;
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for ReadOffers {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<OffersFile, Declined> {
        Ok(offers::read(&self.path)?)
    }
}
