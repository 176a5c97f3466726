/**
 * Computes MurmurHash3 (x86, 128 bits), as its author published it: a hash for data that nobody forges, at a tenth of the
 * cost of a cryptographic hash for the short values of a report. It is seeded with all four lanes of its state, so that each
 * column has its own hash. `test/records/murmur.test.ts` computes the check value that its author published.
 */
const C1: u32 = 0x239b961b;
const C2: u32 = 0xab0e9789;
const C3: u32 = 0x38b34ae5;
const C4: u32 = 0xa1e38b93;
const BLOCK: u32 = 16;

/** @param seed and `into`: four lanes */
export function murmur(start: usize, length: u32, seed: usize, into: usize): void {
  let h1 = load<u32>(seed);
  let h2 = load<u32>(seed, 4);
  let h3 = load<u32>(seed, 8);
  let h4 = load<u32>(seed, 12);
  let at = start;
  const whole = start + (length & ~(BLOCK - 1));
  for (; at < whole; at += BLOCK) {
    h1 ^= scrambled(load<u32>(at), C1, 15, C2);
    h1 = (rotl<u32>(h1, 19) + h2) * 5 + 0x561ccd1b;
    h2 ^= scrambled(load<u32>(at, 4), C2, 16, C3);
    h2 = (rotl<u32>(h2, 17) + h3) * 5 + 0x0bcaa747;
    h3 ^= scrambled(load<u32>(at, 8), C3, 17, C4);
    h3 = (rotl<u32>(h3, 15) + h4) * 5 + 0x96cd1c35;
    h4 ^= scrambled(load<u32>(at, 12), C4, 18, C1);
    h4 = (rotl<u32>(h4, 13) + h1) * 5 + 0x32ac3b17;
  }
  const rest = <i32>(length & (BLOCK - 1));
  store<u32>(into, h1 ^ scrambled(lastWord(at, rest), C1, 15, C2) ^ length);
  store<u32>(into, h2 ^ scrambled(lastWord(at + 4, rest - 4), C2, 16, C3) ^ length, 4);
  store<u32>(into, h3 ^ scrambled(lastWord(at + 8, rest - 8), C3, 17, C4) ^ length, 8);
  store<u32>(into, h4 ^ scrambled(lastWord(at + 12, rest - 12), C4, 18, C1) ^ length, 12);
  finalMix(into);
}

/** The last step of the hash: makes every bit of four lanes depend on all others. */
export function finalMix(lanes: usize): void {
  const second = load<u32>(lanes, 4);
  const third = load<u32>(lanes, 8);
  const fourth = load<u32>(lanes, 12);
  const sum = load<u32>(lanes) + second + third + fourth;
  const m1 = avalanche(sum);
  const m2 = avalanche(second + sum);
  const m3 = avalanche(third + sum);
  const m4 = avalanche(fourth + sum);
  const mixed = m1 + m2 + m3 + m4;
  store<u32>(lanes, mixed);
  store<u32>(lanes, m2 + mixed, 4);
  store<u32>(lanes, m3 + mixed, 8);
  store<u32>(lanes, m4 + mixed, 12);
}

function avalanche(lane: u32): u32 {
  const once = (lane ^ (lane >>> 16)) * 0x85ebca6b;
  const twice = (once ^ (once >>> 13)) * 0xc2b2ae35;
  return twice ^ (twice >>> 16);
}

function scrambled(word: u32, before: u32, bits: u32, after: u32): u32 {
  return rotl<u32>(word * before, bits) * after;
}

function lastWord(at: usize, rest: i32): u32 {
  if (rest >= 4) return load<u32>(at);
  let word: u32 = 0;
  for (let index = rest - 1; index >= 0; index -= 1) word = (word << 8) | load<u8>(at + index);
  return word;
}
