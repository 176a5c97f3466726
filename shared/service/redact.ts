const REDACTED = '[redacted]';
const DIGESTS = /[0-9a-f]{64,}/gi;
const MAX_QUOTED = 200;

/** I9: replaces the secrets, in every form in which they are sent or echoed, and whatever looks like a digest. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = new Set(secrets.flatMap(formsOf).filter((form) => form !== ''));
  const byLength = [...forms].sort((a, b) => b.length - a.length);
  return (text) =>
    byLength.reduce((clean, form) => clean.replaceAll(form, REDACTED), text).replaceAll(DIGESTS, REDACTED);
}

/** I9: text from outside for a message: redacted as a whole before it is cut, on one line, at most 200 characters. */
export function quoted(redact: (text: string) => string, text: string): string {
  const line = redact(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line;
}

function formsOf(secret: string): string[] {
  const component = encodeURIComponent(secret.toWellFormed());
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  const json = JSON.stringify(secret).slice(1, -1);
  const lowerCase = [component, form].map((text) =>
    text.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
  );
  return [secret, component, form, json, json.replaceAll('/', '\\/'), ...lowerCase];
}
