/** Intl also accepts abbreviations and offsets: it takes BST for Dhaka, EST for Panama, and an offset has no summer time. */
/** Zones of many brands, with abbreviations and other names. One of these is shown for zones with the same days. */
const USUAL: Readonly<Record<string, string>> = {
  UTC: 'GMT UCT Z ZULU',
  'Europe/London': 'GMT BST',
  'Europe/Berlin': 'CET CEST MET MEZ GERMANY',
  'Europe/Athens': 'EET EEST',
  'Europe/Moscow': 'MSK',
  'America/New_York': 'EST EDT ET',
  'America/Chicago': 'CST CDT CT',
  'America/Denver': 'MST MDT MT',
  'America/Phoenix': 'MST',
  'America/Los_Angeles': 'PST PDT PT',
  'America/Halifax': 'AST ADT',
  'America/Sao_Paulo': 'BRT',
  'Asia/Kolkata': 'IST MUMBAI DELHI INDIA',
  'Asia/Jerusalem': 'IST',
  'Asia/Dubai': 'GST',
  'Asia/Dhaka': 'BDT',
  'Asia/Shanghai': 'CST BEIJING CHINA',
  'Asia/Singapore': 'SGT',
  'Asia/Tokyo': 'JST',
  'Asia/Seoul': 'KST',
  'Australia/Sydney': 'AEST AEDT',
  'Australia/Brisbane': 'AEST',
  'Pacific/Auckland': 'NZST NZDT NST',
};

export const TIME_ZONE = 'UTC, or an IANA time zone with area and city, e.g. Europe/Berlin, America/New_York';

const AREA = /^(Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)\//;
/** Intl returns another name for a link such as Asia/Kolkata, so only this form shows that the case is right. */
const LINK = /^[A-Z][a-z]+(\/[A-Z][a-z]+([_-][A-Z][a-z]+)*)+$/;

export function isTimeZone(zone: string): boolean {
  if (zone === 'UTC') return true;
  const known = AREA.test(zone) ? intlName(zone) : undefined;
  if (known === undefined || known === zone) return known !== undefined;
  return known.toLowerCase() !== zone.toLowerCase() && LINK.test(zone);
}

function intlName(zone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

export function allTimeZones(): string[] {
  return [...new Set([...Object.keys(USUAL), ...Intl.supportedValuesOf('timeZone')])];
}

export function usualName(zones: readonly string[]): string | undefined {
  return Object.keys(USUAL).find((zone) => zones.includes(zone)) ?? zones[0];
}

/** The zones that somebody probably means who writes this text, three at most. */
export function likelyZones(text: string): string[] {
  const written = text.trim();
  const city = plain(cityOf(written));
  const named = allTimeZones().filter(
    (zone) => plain(zone) === plain(written) || plain(cityOf(zone)) === city,
  );
  const known = intlName(written) ?? '';
  const byIntl = isTimeZone(known) ? [known] : [];
  const found = [atOffset(written), named, abbreviated(written), byIntl];
  return [...new Set(found.find((each) => each.length > 0))].slice(0, 3);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '');
}

function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf('/') + 1);
}

/** `est`, `EST5EDT` and `Eastern Standard Time` are America/New_York. */
function abbreviated(text: string): string[] {
  const initials = text.split(' ').map((word) => word.charAt(0));
  const name = initials.length > 1 ? initials.join('') : /^[a-z]*/i.exec(cityOf(text))?.[0];
  const usual = Object.entries(USUAL).filter(([, names]) =>
    names.split(' ').includes(`${name?.toUpperCase()}`),
  );
  return usual.map(([zone]) => zone);
}

const OFFSET = /^(?:Etc\/)?(?:UTC|GMT)? ?([+-]) ?(\d\d?)(?::?(\d\d))?$/i;

/** The usual zones at this distance from Greenwich in winter or in summer. The sign of `Etc/GMT-6` means the opposite. */
function atOffset(text: string): string[] {
  const [, sign, hours, minutes = '00'] = OFFSET.exec(text) ?? [];
  if (hours === undefined) return [];
  const isEast = (sign === '+') !== /^etc/i.test(text);
  const distance = `${Number(hours)}${minutes === '00' ? '' : `:${minutes}`}`;
  const wanted = distance === '0' ? 'GMT' : `GMT${isEast ? '+' : '-'}${distance}`;
  return [0, 6].flatMap((month) =>
    Object.keys(USUAL)
      .filter((zone) => offsetOf(zone, month) === wanted)
      .slice(0, 2),
  );
}

function offsetOf(timeZone: string, month: number): string | undefined {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'shortOffset' });
  return format.formatToParts(Date.UTC(2026, month)).find(({ type }) => type === 'timeZoneName')?.value;
}
