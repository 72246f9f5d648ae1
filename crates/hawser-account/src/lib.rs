//! The accounts that must balance, the causes behind them, the findings. No I/O.
