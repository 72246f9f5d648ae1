//! Who can cut the heads' power.

use std::net::IpAddr;

use super::head::SECRETS;
use super::{Head, Refused, Remarks, Said};
use crate::place::quoted;
use crate::translate::ipmi::secret_name;

/// A head's management controller, as far as it is known.
pub(super) struct Bmc {
    pub node: String,
    pub address: Option<String>,
    pub user: Option<String>,
    /// `file:/path`, without the word.
    pub password: String,
    pub cipher: Option<u8>,
    /// Whose virtual machine the head is: nothing in it can cut its power.
    pub guest_of: Option<String>,
}

impl Bmc {
    /// Whether it can stand in the file.
    pub fn is_whole(&self) -> bool {
        self.address.is_some() && self.user.is_some()
    }
}

/// The user that Hawser's own documentation has.
const OWN: &str = "hawser";

pub(super) fn bmcs(
    heads: &[Head],
    wishes: &super::Wishes,
    remarks: &mut Remarks,
) -> Result<Vec<Bmc>, Refused> {
    for (node, address) in &wishes.bmcs {
        if !heads.iter().any(|head| head.hostname == *node) {
            let names: Vec<&str> = heads.iter().map(|head| head.hostname.as_str()).collect();
            return Err(Refused {
                found: format!("--bmc {}={address}: no head is called so", quoted(node)),
                help: format!("the heads are {}", names.join(", ")),
            });
        }
    }
    Ok(heads
        .iter()
        .map(|head| one(head, wishes, remarks))
        .collect())
}

fn one(head: &Head, wishes: &super::Wishes, remarks: &mut Remarks) -> Bmc {
    let node = head.hostname.clone();
    let place = head.hostname.as_str();
    let facts = head.around.bmc.as_ref();
    let seen = facts.map(|facts| facts.address.clone());
    let usable = |ip: &String| ip.parse::<IpAddr>().is_ok_and(|ip| !ip.is_unspecified());
    let given = wishes.bmcs.get(&node).cloned();
    let address = given.clone().or_else(|| seen.clone().filter(usable));
    let users = facts.map_or(&[][..], |facts| &facts.users);
    let chosen = users
        .iter()
        .find(|user| *user == OWN)
        .or(users.first())
        .cloned();
    let user = wishes.bmc_user.clone().or(chosen.clone());
    // ipmitool's default is 17, which older controllers do not speak.
    let cipher = facts.and_then(|facts| {
        let speaks = |suite| facts.ciphers.contains(&suite);
        (!speaks(17) && speaks(3)).then_some(3)
    });
    let guest_of = head.virtualization.clone().filter(|it| it != "none");
    let password = format!("{SECRETS}/{}", secret_name(&node));
    let bmc = Bmc {
        node,
        address,
        user,
        password,
        cipher,
        guest_of,
    };
    match (&bmc.address, &given) {
        (Some(address), None) => {
            remarks.add(
                Said::Seen,
                place,
                format!("its BMC at {address}"),
                "`ipmitool lan print` there",
            );
        }
        (Some(_), Some(_)) => {}
        (None, _) => {
            let why = match (&bmc.guest_of, &head.around.unseen.bmc) {
                (Some(what), _) => format!(
                    "it is a virtual machine ({what}): name the fence agent of its hypervisor, [[fencing.device]]"
                ),
                (None, why) if !why.is_empty() => {
                    format!("{why}; --bmc {}=ADDRESS says it", bmc.node)
                }
                (None, _) => {
                    format!(
                        "the controller has no address yet; --bmc {}=ADDRESS says it",
                        bmc.node
                    )
                }
            };
            remarks.add(Said::ToYou, place, "the address of its BMC", why);
        }
    }
    match (&bmc.user, &wishes.bmc_user) {
        (Some(user), None) => {
            let (said, what) = match users {
                [_] => (Said::Seen, format!("its BMC's user {}", quoted(user))),
                all => {
                    let all: Vec<String> = all.iter().map(|user| quoted(user)).collect();
                    let what = format!("its BMC's user, of {}", all.join(", "));
                    (Said::Guessed, what)
                }
            };
            remarks.add(said, place, what, format!("username = {}", quoted(user)));
        }
        (None, _) if bmc.address.is_some() => {
            let why = "one that may switch the power; --bmc-user NAME says it";
            remarks.add(Said::ToYou, place, "the user of its BMC", why);
        }
        _ => {}
    }
    bmc
}
