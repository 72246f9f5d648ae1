//! The parts of an outage.

/// What a client waits for. The order is that of precedence: where several go on at once, the
/// one that stands later here is what the others wait for too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Pacemaker starts where no other one runs, finds the other heads, and agrees on who decides.
    PacemakerStart,
    /// No head's Pacemaker runs.
    NoPacemaker,
    /// A head that was off boots, and has not said anything yet.
    Boot,
    /// Its Corosync runs, and is not in the others' membership yet.
    Join,
    /// A start that failed is not tried again there, until somebody cleans that up.
    FailureKept,
    /// The fault lasts, and the cluster does nothing about it.
    Fault,
    /// The client has not noticed yet that its path is dead; only where the cluster did nothing.
    ClientTimeout,
    /// The fault is healed, and the client's session, which was never lost, has no answer yet; only where the cluster did
    /// nothing.
    PathRecovery,
    /// Between two steps of one transition.
    Controller,
    /// Resources that are not of the client's pool.
    OtherResources,
    /// The first checks of what was just started.
    FirstCheck,
    /// From the loss of a member, of a resource, or from an order, until something is done.
    Decision,
    /// A lost port is held back by the keeper of attributes, which waits for the others.
    Dampening,
    /// A monitor operation had not come round yet.
    Monitor,
    /// Corosync waits for the token.
    TokenLoss,
    /// Corosync confers.
    Consensus,
    /// The shot is held back.
    FenceDelay,
    /// The fence agent works.
    FenceAgent,
    /// The BMC switches the power off.
    Bmc,
    /// The agent waits after the power was cut.
    PowerWait,
    /// Fencing has failed: what is tried again cannot work until a person has helped.
    Human,
    /// A program of the site runs after the client's pool was given up.
    PostExportHook,
    /// A resource of the client's pool, of which nothing says what it is, is given up.
    ResourceStop,
    /// The client's pool is given up.
    PoolStop,
    /// A program of the site runs before that.
    PreExportHook,
    /// Its exports are.
    ExportsStop,
    /// Its addresses are.
    AddressesStop,
    /// A program of the site runs before the pool is mounted or imported.
    PreImportHook,
    /// A resource of the client's pool, of which nothing says what it is, is started.
    ResourceStart,
    /// It is mounted or imported.
    Pool,
    /// A program of the site runs after that.
    PostImportHook,
    /// Its exports are made.
    Exports,
    /// Its addresses are taken.
    Addresses,
    /// No head has power, or none that has says anything yet.
    NoHead,
    /// The service stands, the client has no path yet.
    ClientReconnect,
    /// The client has a path, and waits for its first answer.
    FirstWrite,
    /// The NFS server of the head that has the pool takes only what clients reclaim.
    NfsGrace,
    /// The grace period is over, and the client's kernel waits before it asks again.
    NfsRetry,
    /// The client's own time between two writes, before anything happened.
    ClientPace,
}

impl Phase {
    /// As the report names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::PacemakerStart => "pacemaker start",
            Self::NoPacemaker => "no pacemaker",
            Self::FailureKept => "failure kept",
            Self::Fault => "fault",
            Self::Boot => "boot",
            Self::Join => "join",
            Self::ClientTimeout => "client timeout",
            Self::PathRecovery => "path recovery",
            Self::Controller => "controller",
            Self::OtherResources => "other resources",
            Self::FirstCheck => "first checks",
            Self::Human => "waiting for a human",
            Self::Decision => "decision",
            Self::Dampening => "dampening",
            Self::Monitor => "monitor",
            Self::TokenLoss => "token loss",
            Self::Consensus => "consensus",
            Self::FenceDelay => "fence delay",
            Self::FenceAgent => "fence agent",
            Self::Bmc => "bmc",
            Self::PowerWait => "power wait",
            Self::PreImportHook => "pre-import hook",
            Self::PostImportHook => "post-import hook",
            Self::PreExportHook => "pre-export hook",
            Self::PostExportHook => "post-export hook",
            Self::ResourceStop => "resource stop",
            Self::ResourceStart => "resource start",
            Self::PoolStop => "pool stop",
            Self::ExportsStop => "exports stop",
            Self::AddressesStop => "addresses stop",
            Self::Pool => "pool",
            Self::Exports => "exports",
            Self::Addresses => "addresses",
            Self::NoHead => "no head up",
            Self::ClientReconnect => "client reconnect",
            Self::FirstWrite => "first write",
            Self::NfsGrace => "nfs grace",
            Self::NfsRetry => "nfs retry",
            Self::ClientPace => "client pace",
        }
    }
}
