export function isNewer(version: string, than: string): boolean {
  const [own, other] = [partsOf(version), partsOf(than)];
  const place = own.findIndex((part, index) => part !== (other[index] ?? 0));
  return place !== -1 && (own[place] ?? 0) > (other[place] ?? 0);
}

/** The numbers of a version; what follows a hyphen does not count. */
function partsOf(version: string): number[] {
  const [numbers = ''] = version.split('-');
  return numbers.split('.').map(Number);
}
