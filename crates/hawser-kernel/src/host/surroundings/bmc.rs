//! A machine's management controller, asked by the machine itself (`/dev/ipmi0`): its address and its users, never a
//! password.

use std::path::Path;

use hawser_model::surroundings::BmcFacts;

use super::ask;

/// Where the kernel has it (drivers/char/ipmi/ipmi_devintf.c, and older names).
const DEVICES: [&str; 3] = ["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];

pub(super) fn asked() -> Result<BmcFacts, String> {
    if !DEVICES.iter().any(|path| Path::new(path).exists()) {
        let why = "it has no /dev/ipmi0 (no controller, or the module ipmi_si is not loaded)";
        return Err(why.to_owned());
    }
    let lan = ask("ipmitool", &["lan", "print"])?;
    let users = ask("ipmitool", &["user", "list"]).unwrap_or_default();
    Ok(BmcFacts {
        users: users_of(&users),
        ..facts(&lan)
    })
}

/// `IP Address              : 192.0.2.101`.
fn facts(said: &str) -> BmcFacts {
    let of = |key: &str| {
        let mut lines = said.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(name, _)| name.trim() == key);
        found.map_or("", |(_, value)| value.trim())
    };
    let ciphers = of("RMCP+ Cipher Suites").split(',');
    BmcFacts {
        address: of("IP Address").to_owned(),
        ciphers: ciphers.filter_map(|it| it.trim().parse().ok()).collect(),
        users: Vec::new(),
    }
}

/// `2   hawser           true    false      true       OPERATOR`: name, three answers, and what it may.
fn users_of(said: &str) -> Vec<String> {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        words.next()?.parse::<u8>().ok()?;
        let name = words.next()?;
        let rest: Vec<&str> = words.collect();
        // Callin, link authentication, IPMI messages.
        let [_, _, messages, limit @ ..] = &rest[..] else {
            return None;
        };
        let may = ["OPERATOR", "ADMINISTRATOR", "OEM"].contains(&limit.join(" ").as_str());
        (*messages == "true" && may).then(|| name.to_owned())
    };
    said.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ipmitool 1.8.19.
    const LAN: &str = "Set in Progress         : Set Complete
Auth Type Support       : MD5 PASSWORD
Auth Type Enable        : Callback : MD5
                        : User     : MD5
IP Address Source       : Static Address
IP Address              : 192.0.2.101
Subnet Mask             : 255.255.255.0
MAC Address             : 02:00:00:00:00:0a
Default Gateway IP      : 192.0.2.1
RMCP+ Cipher Suites     : 0,1,2,3,6,7,8,11,12
";
    const USERS: &str = "ID  Name             Callin  Link Auth  IPMI Msg   Channel Priv Limit
1                    true    false      false      NO ACCESS
2   ADMIN            true    false      true       ADMINISTRATOR
3   monitor          true    false      true       USER
4   hawser           true    true       true       OPERATOR
5   off              true    false      false      ADMINISTRATOR
";

    #[test]
    fn its_address_and_the_users_that_may_switch_the_power_are_read() {
        let read = facts(LAN);
        assert_eq!(read.address, "192.0.2.101");
        assert_eq!(read.ciphers, [0, 1, 2, 3, 6, 7, 8, 11, 12]);
        assert_eq!(users_of(USERS), ["ADMIN", "hawser"]);
        assert_eq!(facts(""), BmcFacts::default());
    }
}
