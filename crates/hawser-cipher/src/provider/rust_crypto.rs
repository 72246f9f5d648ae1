//! AES by RustCrypto: no C, the processor's AES instructions where it has them, constant-time
//! software where it has not.

use aes::cipher::inout::InOutBuf;
use aes::cipher::typenum::U16;
use aes::cipher::{
    Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt,
    BlockSizeUser, InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use ctr::CtrCore;
use ctr::flavors::{Ctr32BE, Ctr128BE};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use subtle::ConstantTimeEq;

use crate::error::CipherError;
use crate::key::{Key, KeySize};
use crate::mode::{Direction, Mode};

/// One mode, one direction, one key.
pub(crate) struct Context {
    work: Box<dyn Work>,
}

/// What a mode does with the bytes of a message.
trait Work: Send + Sync {
    /// Begins a message.
    fn start(&mut self, iv: &[u8]);
    /// The next bytes; whole blocks where the mode has blocks.
    fn apply(&mut self, data: InOutBuf<'_, '_, u8>);
    /// Data that is only authenticated.
    fn associate(&mut self, _data: &[u8]) {
        unreachable!("only GCM has associated data");
    }
    /// The tag of all that was applied.
    fn tag(&mut self) -> [u8; 16] {
        unreachable!("only GCM has a tag");
    }
}

impl Context {
    pub(crate) fn new(mode: Mode, direction: Direction, key: &Key) -> Result<Self, CipherError> {
        let work = match key.size() {
            KeySize::Aes128 => work::<aes::Aes128>(mode, direction, key.expose()),
            KeySize::Aes192 => work::<aes::Aes192>(mode, direction, key.expose()),
            KeySize::Aes256 => work::<aes::Aes256>(mode, direction, key.expose()),
        };
        Ok(Self { work })
    }

    pub(crate) fn start(&mut self, iv: &[u8]) -> Result<(), CipherError> {
        self.work.start(iv);
        Ok(())
    }

    pub(crate) fn associate(&mut self, data: &[u8]) -> Result<(), CipherError> {
        self.work.associate(data);
        Ok(())
    }

    pub(crate) fn apply(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), CipherError> {
        let data = InOutBuf::new(input, output).expect("equal lengths");
        self.work.apply(data);
        Ok(())
    }

    pub(crate) fn apply_in_place(&mut self, data: &mut [u8]) -> Result<(), CipherError> {
        self.work.apply(data.into());
        Ok(())
    }

    pub(crate) fn tag(&mut self) -> Result<[u8; 16], CipherError> {
        Ok(self.work.tag())
    }

    pub(crate) fn check(&mut self, tag: &[u8; 16]) -> Result<bool, CipherError> {
        Ok(self.work.tag().ct_eq(tag).into())
    }
}

/// A cipher as the modes below need it.
trait Aes:
    BlockSizeUser<BlockSize = U16>
    + BlockCipherEncrypt
    + BlockCipherDecrypt
    + KeyInit
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl Aes for aes::Aes128 {}
impl Aes for aes::Aes192 {}
impl Aes for aes::Aes256 {}

fn work<C: Aes>(mode: Mode, direction: Direction, key: &[u8]) -> Box<dyn Work> {
    let cipher = C::new_from_slice(key).expect("a key has the size that it says");
    let zero = Block::<C>::default();
    match (mode, direction) {
        (Mode::Ecb, Direction::Encrypt) => Box::new(EcbEncrypt(cipher)),
        (Mode::Ecb, Direction::Decrypt) => Box::new(EcbDecrypt(cipher)),
        (Mode::Cbc, Direction::Encrypt) => Box::new(CbcEncrypt {
            chain: cbc::Encryptor::inner_iv_init(cipher.clone(), &zero),
            cipher,
        }),
        (Mode::Cbc, Direction::Decrypt) => Box::new(CbcDecrypt {
            chain: cbc::Decryptor::inner_iv_init(cipher.clone(), &zero),
            cipher,
        }),
        (Mode::Ctr, _) => Box::new(Counter {
            stream: counter(&cipher, &zero),
            cipher,
        }),
        (Mode::Gcm, _) => Box::new(Gcm::new(cipher, direction)),
    }
}

fn blocks<'i, 'o>(data: InOutBuf<'i, 'o, u8>) -> InOutBuf<'i, 'o, Array<u8, U16>> {
    let (blocks, tail) = data.into_chunks::<U16>();
    assert!(tail.is_empty(), "the data path calls with whole blocks");
    blocks
}

struct EcbEncrypt<C>(C);
struct EcbDecrypt<C>(C);

impl<C: Aes> Work for EcbEncrypt<C> {
    fn start(&mut self, _iv: &[u8]) {}
    fn apply(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.0.encrypt_blocks_inout(blocks(data));
    }
}

impl<C: Aes> Work for EcbDecrypt<C> {
    fn start(&mut self, _iv: &[u8]) {}
    fn apply(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.0.decrypt_blocks_inout(blocks(data));
    }
}

struct CbcEncrypt<C: Aes> {
    cipher: C,
    chain: cbc::Encryptor<C>,
}

struct CbcDecrypt<C: Aes> {
    cipher: C,
    chain: cbc::Decryptor<C>,
}

fn vector<C: Aes>(iv: &[u8]) -> Block<C> {
    Block::<C>::try_from(iv).expect("a vector of one block")
}

impl<C: Aes> Work for CbcEncrypt<C> {
    fn start(&mut self, iv: &[u8]) {
        self.chain = cbc::Encryptor::inner_iv_init(self.cipher.clone(), &vector::<C>(iv));
    }
    fn apply(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.chain.encrypt_blocks_inout(blocks(data));
    }
}

impl<C: Aes> Work for CbcDecrypt<C> {
    fn start(&mut self, iv: &[u8]) {
        self.chain = cbc::Decryptor::inner_iv_init(self.cipher.clone(), &vector::<C>(iv));
    }
    fn apply(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.chain.decrypt_blocks_inout(blocks(data));
    }
}

struct Counter<C: Aes> {
    cipher: C,
    stream: StreamCipherCoreWrapper<CtrCore<C, Ctr128BE>>,
}

fn counter<C: Aes>(cipher: &C, iv: &Block<C>) -> StreamCipherCoreWrapper<CtrCore<C, Ctr128BE>> {
    StreamCipherCoreWrapper::from_core(CtrCore::inner_iv_init(cipher.clone(), iv))
}

impl<C: Aes> Work for Counter<C> {
    fn start(&mut self, iv: &[u8]) {
        self.stream = counter(&self.cipher, &vector::<C>(iv));
    }
    fn apply(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.stream.apply_keystream_inout(data);
    }
}

/// GCM (NIST SP 800-38D) from counters and GHASH, so that it takes a message in pieces.
struct Gcm<C: Aes> {
    cipher: C,
    direction: Direction,
    hash: Hash,
    stream: StreamCipherCoreWrapper<CtrCore<C, Ctr32BE>>,
    /// The encrypted first counter block, which covers the hash.
    mask: Block<C>,
}

impl<C: Aes> Gcm<C> {
    fn new(cipher: C, direction: Direction) -> Self {
        let zero = Block::<C>::default();
        let mut hash_key = zero;
        cipher.encrypt_block(&mut hash_key);
        Self {
            direction,
            hash: Hash::new(GHash::new(&hash_key.0.into())),
            stream: StreamCipherCoreWrapper::from_core(CtrCore::inner_iv_init(
                cipher.clone(),
                &zero,
            )),
            mask: zero,
            cipher,
        }
    }
}

impl<C: Aes> Work for Gcm<C> {
    fn start(&mut self, iv: &[u8]) {
        let mut first = Block::<C>::default();
        first[..12].copy_from_slice(iv);
        first[15] = 2;
        self.stream =
            StreamCipherCoreWrapper::from_core(CtrCore::inner_iv_init(self.cipher.clone(), &first));
        first[15] = 1;
        self.cipher.encrypt_block(&mut first);
        self.mask = first;
        self.hash.start();
    }

    fn associate(&mut self, data: &[u8]) {
        self.hash.associate(data);
    }

    fn apply(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        if self.direction == Direction::Decrypt {
            self.hash.text(data.get_in());
        }
        self.stream.apply_keystream_inout(data.reborrow());
        if self.direction == Direction::Encrypt {
            self.hash.text(data.get_out());
        }
    }

    fn tag(&mut self) -> [u8; 16] {
        let mut tag = self.hash.finish();
        for (byte, mask) in tag.iter_mut().zip(self.mask) {
            *byte ^= mask;
        }
        tag
    }
}

/// GHASH over associated data and ciphertext that come in pieces of any length.
struct Hash {
    fresh: GHash,
    running: GHash,
    partial: [u8; 16],
    associated: u64,
    text: u64,
}

impl Hash {
    fn new(fresh: GHash) -> Self {
        Self {
            running: fresh.clone(),
            fresh,
            partial: [0; 16],
            associated: 0,
            text: 0,
        }
    }

    fn start(&mut self) {
        self.running = self.fresh.clone();
        (self.associated, self.text) = (0, 0);
    }

    fn associate(&mut self, data: &[u8]) {
        let held = (self.associated % 16) as usize;
        self.absorb(held, data);
        self.associated += data.len() as u64;
    }

    fn text(&mut self, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        if self.text == 0 {
            self.pad((self.associated % 16) as usize);
        }
        let held = (self.text % 16) as usize;
        self.absorb(held, data);
        self.text += data.len() as u64;
    }

    /// Hashes `data` behind the `held` bytes that wait in `partial`.
    fn absorb(&mut self, held: usize, mut data: &[u8]) {
        if held > 0 {
            let fitting = data.len().min(16 - held);
            self.partial[held..held + fitting].copy_from_slice(&data[..fitting]);
            data = &data[fitting..];
            if held + fitting < 16 {
                return;
            }
            self.running.update(&[self.partial.into()]);
        }
        let (whole, rest) = Array::slice_as_chunks(data);
        self.running.update(whole);
        self.partial[..rest.len()].copy_from_slice(rest);
    }

    /// Hashes what waits, filled up with zeros.
    fn pad(&mut self, held: usize) {
        if held > 0 {
            self.partial[held..].fill(0);
            self.running.update(&[self.partial.into()]);
        }
    }

    fn finish(&mut self) -> [u8; 16] {
        let held = if self.text == 0 {
            self.associated
        } else {
            self.text
        };
        self.pad((held % 16) as usize);
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&(self.associated * 8).to_be_bytes());
        lengths[8..].copy_from_slice(&(self.text * 8).to_be_bytes());
        self.running.update(&[lengths.into()]);
        self.running.clone().finalize().0
    }
}
