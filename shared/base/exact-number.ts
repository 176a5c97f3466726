const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/;

/** `1 row`, `12,345 rows` */
export function counted(number: number, noun: string): string {
  return `${exactNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A number for people, with all its digits: `1234567.500000000` → `1,234,567.5`; other text stays. */
export function exactNumber(number: string | number): string {
  const [, sign = '', whole, places = ''] = PLAIN.exec(String(number)) ?? [];
  if (whole === undefined) return String(number);
  const digits = places.replace(/0+$/, '');
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${digits === '' ? '' : `.${digits}`}`;
}

/** A sum for people, rounded half up to at most two decimals: `1234.565000000` → `1,234.57`, `12.500000000` → `12.50`. */
export function amountText(sum: string): string {
  const [, sign = '', whole, places = ''] = PLAIN.exec(sum) ?? [];
  if (whole === undefined) return sum;
  const cents = String((BigInt(whole + places.padEnd(3, '0').slice(0, 3)) + 5n) / 10n).padStart(3, '0');
  const [units, rest] = [cents.slice(0, -2), cents.slice(-2)];
  const isZero = Number(cents) === 0;
  return `${isZero ? '' : sign}${exactNumber(units)}${rest === '00' ? '' : `.${rest}`}`;
}
