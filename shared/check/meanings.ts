/* A wrong field would pay wrong sums, so both its name and its values must fit the role. */
import { exactDay, exactInstant } from '../base/exact-values.ts';
import { readValue } from '../table/amounts.ts';
import { comparedState } from '../reports/definition.ts';
import { type Role, words } from '../reports/roles.ts';

export interface Meaning {
  what: string;
  names: RegExp;
  /** Names that are taken only if no better name fits. */
  hints?: RegExp;
  /** No name with such a word has the role. */
  never?: RegExp;
  fits: (values: Values, isHint: boolean) => boolean;
}

export interface Values {
  /** Of values that are not empty; `undefined` for a list, an object, true or false. */
  texts: readonly (string | undefined)[];
  records: number;
  /** Whether a record of the report is an order, so that the id of an order occurs once. */
  isOrder: boolean;
  states: ReadonlySet<string>;
  kinds: ReadonlySet<string>;
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
/** A column of states or kinds has no more different words. */
const MAX_WORDS = 12;
/** So many records share some of their publishers. */
const MANY = 20;
/** Words of sales and bonuses, besides those of the interface. */
export const SALES = words('sale sales order purchase normal trans manual_trans manually_added');
export const BONUS = /bonus|campaign|incentive|placement|tenancy|reward|flat.?fee/;

/** The part of the texts, from 0 to 1, that are such. */
function share({ texts }: Values, is: (text: string) => boolean): number {
  return texts.filter((text) => text !== undefined && is(text)).length / texts.length;
}

export const distinct = ({ texts }: Values) => new Set(texts).size;
const isAmount = (text: string) => typeof readValue(text) === 'bigint';
/** A number that may be unreadable, such as `1,500.25 €`. */
const isLikeAmount = (text: string) => isAmount(text) || /^\D{0,5}\d[\d.,' ]*\D{0,5}$/.test(text);
const areAmounts = (values: Values, isHint: boolean) =>
  isHint ? share(values, isAmount) === 1 : share(values, isLikeAmount) > 0.8;
const areIds = (values: Values) => share(values, (text) => /^\S{1,64}$/.test(text)) > 0.9;
/** Records share publishers, but not the click that brought each order. */
const areShared = (values: Values) =>
  areIds(values) && (values.texts.length < MANY || distinct(values) < values.texts.length);
const isTime = (text: string) =>
  Boolean(exactInstant(text) ?? exactDay(text)) || /^\d{4}-\d\d-\d\d[T ]/.test(text);
const areTimes = (values: Values) => share(values, isTime) === 1;
const areWords = (values: Values) =>
  distinct(values) <= MAX_WORDS && share(values, (text) => text.length <= 40) === 1;
/** A service may have states of its own. Two capitals may be states of a country. */
const areStates = (values: Values) =>
  share(values, (text) => values.states.has(comparedState(text))) >= 0.5 ||
  (areWords(values) &&
    distinct(values) < values.texts.length &&
    share(values, (text) => /^[A-Z]{2}$/.test(text)) < 0.5);
const areKinds = (values: Values) => {
  const isKind = (word: string) => values.kinds.has(word) || SALES.includes(word) || BONUS.test(word);
  return areWords(values) && share(values, (text) => isKind(comparedState(text))) >= 0.5;
};

const PUBLISHER = '(publisher|publ|pub|affiliate|aff|partner|influencer|creator)s?';
const ID = '(id|uid|no|nr|num|number|key|ref|reference|code)';
/** One of these words; `*` stands for the rest of a word. */
function anyOf(...names: readonly string[]): RegExp {
  const each = words(...names).join('|');
  return new RegExp(`\\b(${each.replaceAll('*', '\\w*')})\\b`);
}

const AMOUNTS = { what: 'an amount', fits: areAmounts };
const STATES = { what: 'a state', fits: areStates };

/** By role. Names are compared as words: `orderNo` is `order no`, `publisher.id` is `publisher id`. */
export const MEANINGS: Readonly<Record<Role, Meaning>> = {
  amount: {
    ...AMOUNTS,
    names:
      /\b(orders?|sales?|purchase|basket|cart|gross|net|goods) ?(value|val|sum|price)\b|\b(amount|amt|revenue|turnover|gmv|total)\b/,
    hints: anyOf('value price sum subtotal worth spend'),
    never: anyOf(
      'comm* payout pay paid earn* reward fee* tax* vat ship* discount coupon refund* quantity qty count item*',
      'rate percent* pct curr* ccy date time id type status cost bonus budget',
    ),
  },
  commission: {
    ...AMOUNTS,
    names: anyOf('comm comms commission*'),
    hints: anyOf('payout earning* provision reward'),
    never: anyOf(
      'rate percent* pct status state st curr* ccy date time type kind id rule plan group tier name base tax',
      'old original previous',
    ),
  },
  currency: {
    what: 'a currency',
    names: anyOf('curr* ccy cur iso devise valuta moneda waehrung'),
    hints: /./,
    fits: (values) => share(values, (text) => CURRENCIES.has(text.trim().toUpperCase())) === 1,
  },
  state: {
    ...STATES,
    names: anyOf('status state stat st'),
    hints: anyOf('stage phase lifecycle approval validation'),
    never: anyOf('country region ship* pay* delivery click sku line* item* product email id date time at by'),
  },
  line_state: {
    ...STATES,
    names: /\b(sku|lines?|items?|product|position) ?(status|state|stat|st)\b/,
  },
  kind: {
    what: 'a kind',
    names: anyOf('type kind'),
    hints: anyOf('category class'),
    never: anyOf('product pay* item* curr*'),
    fits: areKinds,
  },
  publisher_id: { what: 'an id', names: new RegExp(`\\b${PUBLISHER}( ?${ID})?$`), fits: areShared },
  publisher_name: {
    what: 'a text',
    names: new RegExp(`\\b${PUBLISHER} .*(name|title|label)\\b`),
    hints: new RegExp(`\\b${PUBLISHER}$`),
    fits: (values, isHint) => share(values, (text) => !isHint || /\S\s+\S/.test(text)) >= (isHint ? 0.5 : 1),
  },
  channel_id: { what: 'an id', names: new RegExp(`\\b(channel|chan)( ?${ID})?$`), fits: areShared },
  order_id: {
    what: 'an id',
    names: new RegExp(`\\b(orders?|ord|purchase|booking)( ?${ID})?$`),
    hints: new RegExp(`^((transaction|txn|trans) ?${ID}|id)$`),
    never: anyOf('parent original invoice item* line*'),
    // In the list of transactions, the id of a transaction is the id of a line.
    fits: (values, isHint) =>
      areIds(values) &&
      values.texts.length >= 0.9 * values.records &&
      (values.isOrder ? distinct(values) >= 0.9 * values.records : !isHint),
  },
  product: {
    what: 'an id',
    names: new RegExp(`\\b(sku|asin|ean|gtin|upc)$|\\b(product|item|article|variant) ?${ID}$`),
    hints: /\b(product|item|article)$/,
    fits: areIds,
  },
  created: {
    what: 'a time',
    names: anyOf('order* purchase* placed booked sold transaction txn trans'),
    hints: anyOf('creat* date time timestamp ts datetime'),
    never: anyOf(
      'updat* modif* chang* valid* paid pay* lock* approv* void* cancel* click* ship* deliver* expir* last',
    ),
    fits: areTimes,
  },
};
