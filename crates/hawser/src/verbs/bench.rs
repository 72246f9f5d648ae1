//! `hawser bench`: what this machine itself can do.

use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::{Subcommand, ValueEnum};
use hawser_cipher::KeySize;
use hawser_cipher::bench::{self, BenchPlan};
use indicatif::{ProgressBar, ProgressStyle};
use miette::IntoDiagnostic;

use crate::output::{self, say};
use crate::render;

/// Arguments of `hawser bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// AES in every mode and layout of buffers, beside OpenSSL in the same run
    Cipher(CipherArgs),
}

/// Arguments of `hawser bench cipher`.
#[derive(clap::Args)]
struct CipherArgs {
    /// Print a JSON array (docs/schema/bench-cipher.schema.json)
    #[arg(long)]
    json: bool,
    /// A look in a few seconds: AES-128, 8 and 128 KiB, four layouts
    #[arg(long)]
    quick: bool,
    /// Key sizes to measure [default: all; with --quick 128]
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    key_bits: Vec<KeyBits>,
}

#[derive(Clone, Copy)]
struct KeyBits(KeySize);

impl ValueEnum for KeyBits {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(KeySize::Aes128),
            Self(KeySize::Aes192),
            Self(KeySize::Aes256),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self.0 {
            KeySize::Aes128 => "128",
            KeySize::Aes192 => "192",
            KeySize::Aes256 => "256",
        }))
    }
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    match args.what {
        What::Cipher(args) => cipher(&args),
    }
}

fn cipher(args: &CipherArgs) -> miette::Result<ExitCode> {
    let mut plan = if args.quick {
        BenchPlan::quick()
    } else {
        BenchPlan::full()
    };
    if !args.key_bits.is_empty() {
        plan.key_sizes = args.key_bits.iter().map(|bits| bits.0).collect();
        plan.key_sizes.sort();
        plan.key_sizes.dedup();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {eta}")
        .expect("a template that was tried");
    let bar = ProgressBar::new(0).with_style(style);
    let rows = bench::run(&plan, |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let rows = rows.into_diagnostic()?;
    if args.json {
        say!("{}", serde_json::to_string(&rows).into_diagnostic()?);
    } else {
        output::print_fitted(&render::bench_cipher::table(&rows, &plan));
    }
    Ok(ExitCode::SUCCESS)
}
