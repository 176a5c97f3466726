/**
 * Creates the records that the service of `npm run bench` serves: 20 fields and about 428 bytes of JSON each. The
 * fields are as slow or easy as in real reports: unique ids, repeated names and states, amounts with trailing zeros
 * (`12.50`), an address, a flag and a field that is mostly null. The same number always gives the same record.
 */

import type { ServicePlan } from './service-messages.ts';

export const RECORDS_PER_PAGE = 200;

const STATES = ['new', 'void', 'mixed', 'locked', 'paid'];
const TYPES = ['normal', 'normal', 'normal', 'bonus', 'campaign_bonus', 'performance_bonus'];
const COUNTRIES = ['US', 'DE', 'GB', 'FR', 'CA'];
const DAY_SECONDS = 86_400;

/** The records of a page as the text of a JSON list. @param page counted from 0 over all days */
export function listText(
  page: number,
  { recordsPerPage: count = RECORDS_PER_PAGE, restated }: Pick<ServicePlan, 'recordsPerPage' | 'restated'>,
): string {
  const first = page * count;
  const records = Array.from({ length: count }, (_, place) => {
    const number = first + place;
    return recordText(number, restated !== undefined && number % restated === 0);
  });
  return `[${records.join(',')}]`;
}

/** The id is `transaction_id`, which is different for each number. */
function recordText(number: number, restated: boolean): string {
  const random = mixed(number);
  const publisher = random % 3_000;
  const sku = `B0${((random >>> 3) % 8_000).toString(36).toUpperCase().padStart(4, '0')}`;
  const cents = 199 + (mixed(random) % 45_000);
  const madeSeconds = 1_704_067_200 + (number % DAY_SECONDS);
  const quantity = 1 + (random % 4);
  const state = restated ? 'restated' : pick(STATES, random >>> 5);
  // As text, because JSON.stringify would print the amounts without their trailing zeros.
  return `{"transaction_id":"t${String(number).padStart(9, '0')}","order_id":"${orderId(random)}","sku":"${sku}","quantity":${quantity},"amount":${(cents / 100).toFixed(2)},"commission":${(cents / 1_250).toFixed(4)},"rate":0.08,"currency":"USD","order_status":"${state}","sku_status":"${state}","type":"${pick(TYPES, random >>> 7)}","publisher_id":"${100_000 + publisher}","publisher":"${nameOf(publisher)}","channel_id":"${publisher * 7 + (random % 3)}","country":"${pick(COUNTRIES, random >>> 9)}","maker":"Maker ${(random >>> 4) % 40}","created":"${new Date(madeSeconds * 1000).toUTCString()}","is_new":${random % 5 === 0},"note":${random % 50 === 0 ? '"paid by hand"' : 'null'},"url":"https://shop.example/${sku}?tag=${publisher}"}`;
}

/** One name in twenty is not ASCII. */
function nameOf(publisher: number): string {
  return `${publisher % 20 === 0 ? 'Café' : 'Store'} ${publisher}`;
}

function orderId(random: number): string {
  return `${100 + (random % 900)}-${String(mixed(random + 1) % 10_000_000).padStart(7, '0')}`;
}

function pick(values: readonly string[], random: number): string {
  return values[random % values.length] ?? '';
}

/** A whole number below 2^32 that looks random. */
function mixed(number: number): number {
  const once = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  const twice = Math.imul(once ^ (once >>> 16), 0x45d9f3b);
  return (twice ^ (twice >>> 16)) >>> 0;
}
