//! Offloads of an interface, by the kernel's names (`ethtool -k` shows aliases of some).

use hawser_model::names::InterfaceName;

use crate::KernelError;
use crate::ethtool::Ethtool;

pub(super) fn read(interface: &InterfaceName, feature: &str) -> Result<String, KernelError> {
    let call = |e| KernelError::call("ethtool ETHTOOL_GFEATURES", interface, e);
    let state = Ethtool::open()?
        .feature(interface.as_str(), feature)
        .map_err(call)?;
    match state {
        Some(true) => Ok("on".to_owned()),
        Some(false) => Ok("off".to_owned()),
        None => Err(KernelError::Absent(format!(
            "{interface}: no feature {feature}"
        ))),
    }
}

pub(super) fn write(
    interface: &InterfaceName,
    feature: &str,
    value: &str,
) -> Result<(), KernelError> {
    let on = match value {
        "on" => true,
        "off" => false,
        other => {
            return Err(KernelError::Absent(format!(
                "{feature} of {interface}: `{other}` is neither on nor off"
            )));
        }
    };
    Ethtool::open()?
        .set_feature(interface.as_str(), feature, on)
        .map_err(|e| KernelError::call("ethtool ETHTOOL_SFEATURES", interface, e))
}
