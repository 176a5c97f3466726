/** A number for people, with all its digits: `1234567.500000000` → `1,234,567.5`. Text that is no plain number stays. */
export function exactNumber(number: string | number): string {
  const [, sign = '', whole, places = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(number)) ?? [];
  if (whole === undefined) return String(number);
  const digits = places.replace(/0+$/, '');
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${digits === '' ? '' : `.${digits}`}`;
}
