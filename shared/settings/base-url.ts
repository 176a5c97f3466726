export const BASE_URL =
  'an https address (http on loopback only) without user, fragment, bid, token, action and version';

export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, searchParams } = new URL(text);
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  const routed = ['bid', 'token', 'action', 'version'].some((name) => searchParams.has(name));
  return (
    (protocol === 'https:' || (protocol === 'http:' && loopback)) &&
    !username &&
    !password &&
    !text.includes('#') &&
    !routed
  );
}

/** I9: the address for a message, without its query string, which may contain a key. */
export function shownAddress(baseUrl: string): string {
  return new URL(baseUrl).href.replace(/\?.+/, '?…');
}
