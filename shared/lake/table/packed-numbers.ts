/** The size of a group, and of the shortest run. */
const GROUP = 8;
/** The most bytes of a header before the bits of a run or of groups. */
const HEADER_BYTES = 5;

/**
 * Packs numbers as Parquet stores levels and dictionary places (its encoding RLE). Eight or more equal numbers are a run;
 * other numbers are groups of eight, each number in `width` bits. hyparquet-writer packs them alike, at several times the
 * cost.
 * @param width bits of a number, at most 24
 */
export function packedNumbers(numbers: Uint32Array, width: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(numbers.length / GROUP) * (HEADER_BYTES + width));
  let at = 0;
  const write = (byte: number) => {
    bytes[at] = byte;
    at += 1;
  };
  const writeHeader = (value: number) => {
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) write(rest | 0x80);
    write(rest);
  };
  const writeGroups = (from: number, to: number) => {
    const groups = Math.ceil((to - from) / GROUP);
    writeHeader((groups << 1) | 1);
    let word = 0;
    let bits = 0;
    for (let index = from; index < from + groups * GROUP; index += 1) {
      if (index < numbers.length) word |= (numbers[index] ?? 0) << bits;
      for (bits += width; bits >= 8; bits -= 8) {
        write(word);
        word >>>= 8;
      }
    }
  };
  let written = 0;
  for (let index = 0, end = 0; index < numbers.length; index = end) {
    const number = numbers[index] ?? 0;
    for (end = index + 1; end < numbers.length && numbers[end] === number; ) end += 1;
    if (end - index < GROUP) {
      end = index + GROUP;
      continue;
    }
    if (written < index) writeGroups(written, index);
    writeHeader((end - index) << 1);
    for (let bits = 0; bits < width; bits += 8) write(number >>> bits);
    written = end;
  }
  if (written < numbers.length) writeGroups(written, numbers.length);
  return bytes.subarray(0, at);
}
