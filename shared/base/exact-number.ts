const EXACT = new Intl.NumberFormat('en', { maximumFractionDigits: 100 });
const AMOUNT = new Intl.NumberFormat('en', {
  ...{ minimumFractionDigits: 2, maximumFractionDigits: 2 },
  ...{ trailingZeroDisplay: 'stripIfInteger', signDisplay: 'negative' },
});

/** `1 row`, `12,345 rows` */
export function counted(number: number, noun: string): string {
  return `${exactNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A number for people, with all its digits: `1234567.500000000` → `1,234,567.5`; other text stays. */
export function exactNumber(number: string | number): string {
  const text = String(number);
  return isPlain(text) ? EXACT.format(text) : text;
}

/** A sum for people, rounded half up to at most two decimals: `1234.565000000` → `1,234.57`, `12.500000000` → `12.50`. */
export function amountText(sum: string): string {
  return isPlain(sum) ? AMOUNT.format(sum) : sum;
}

function isPlain(text: string): text is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(text);
}
