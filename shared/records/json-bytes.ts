export const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
export const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39];

export function isNested(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === OPEN_OBJECT || bytes[start] === OPEN_LIST;
}

export function beginsNumber(byte: number | undefined): boolean {
  return byte !== undefined && (byte === MINUS || (byte >= ZERO && byte <= NINE));
}
