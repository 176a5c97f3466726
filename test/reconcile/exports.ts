/** Writes an export of orders in the formats of five dashboards: delimiters, numbers, days, words and encodings differ. */

/** An order, or a piece of a transaction, as a dashboard shows it. Amounts are in cents. */
export interface ShownOrder {
  id: string;
  product?: string;
  /** ms */
  at: number;
  day: string;
  status: string;
  amount: number;
  commission: number;
  currency: string;
  /** The number of decimal places. */
  places?: 0 | 1;
}

interface ExportFormat {
  /** The exported report; default: orders. */
  of?: 'transactions';
  /** Whether a line names its currency. */
  namesCurrency: boolean;
  write(orders: readonly ShownOrder[]): Buffer;
}

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const sum = (orders: readonly ShownOrder[], value: 'amount' | 'commission') =>
  orders.reduce((all, order) => all + order[value], 0);

function plain(cents: number, places = 2): string {
  return (cents / 100).toFixed(places);
}

function grouped(cents: number, places = 2): string {
  const [whole = '', fraction] = plain(Math.abs(cents), places).split('.');
  const text = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',') + (fraction ? `.${fraction}` : '');
  return cents < 0 ? `(${text})` : text;
}

function comma(text: string): string {
  return text.replaceAll(/[.,]/g, (sign) => (sign === '.' ? ',' : '.'));
}

export const FORMATS: Readonly<Record<string, ExportFormat>> = {
  'plain, with days': {
    namesCurrency: true,
    write: (orders) =>
      Buffer.from(
        [
          'transid,date,status,amount,commission,currency',
          ...orders.map(({ id, day, status, amount, commission, currency, places }) =>
            [id, day, status, plain(amount, places), plain(commission, places), currency].join(','),
          ),
        ].join('\n'),
      ),
  },
  'German spreadsheet, a total at the end': {
    namesCurrency: true,
    write: (orders) =>
      Buffer.from(
        `\ufeff${[
          'Order-ID;Order Date;Status;Sale Amount;Währung;Currency;Commission',
          ...orders.map(({ id, day, status, amount, commission, currency, places }) =>
            [
              `="${id}"`,
              day.split('-').toReversed().join('.'),
              status.toUpperCase(),
              quoted(`${comma(grouped(amount, places))} €`.replace(' €', '')),
              'x',
              currency,
              comma(grouped(commission, places)),
            ].join(';'),
          ),
          `Summe;;;${comma(grouped(sum(orders, 'amount')))};;;${comma(grouped(sum(orders, 'commission')))}`,
        ].join('\r\n')}\r\n`,
      ),
  },
  'tabs in UTF-16, US days, dollar signs': {
    namesCurrency: true,
    write: (orders) =>
      Buffer.from(
        `\ufeff${[
          'Order ID\tOrder Time\tOrder Status\tOrder Amount\tCommission\tCurrency Code',
          ...orders.map(({ id, day, status, amount, commission, currency, places }) => {
            const [year, month, date] = day.split('-');
            return [
              id,
              `${month}/${date}/${year} 11:30:00`,
              status,
              `$${grouped(amount, places)}`,
              `$${grouped(commission, places)}`,
              currency,
            ].join('\t');
          }),
        ].join('\n')}`,
        'utf16le',
      ),
  },
  'quoted line breaks under a title, instants, the currency in the head': {
    namesCurrency: false,
    write: (orders) =>
      Buffer.from(
        [
          'Orders of ACME, exported 1 Nov',
          '',
          '"Order ID","Note","Created At","Status","Comm. (USD)","Total (USD)"',
          ...orders.map(({ id, at, status, amount, commission, places }) =>
            [
              id,
              'gift\n"wrapped"',
              new Date(at).toISOString(),
              status,
              plain(commission, places),
              grouped(amount, places),
            ]
              .map(quoted)
              .join(','),
          ),
        ].join('\n'),
      ),
  },
  'an invoice in Latin-1: what counts, commission alone': {
    namesCurrency: true,
    write: (orders) => {
      const counted = orders.filter(({ status }) => status !== 'void');
      return Buffer.from(
        [
          'Publisher;Order Number;Währung;Currency;Payout',
          ...counted.map(({ id, commission, currency, places }) =>
            ['Zoë', id, 'ß', currency, comma(plain(commission, places))].join(';'),
          ),
          `;;;;${comma(plain(sum(counted, 'commission')))}`,
        ].join('\n'),
        'latin1',
      );
    },
  },
  'transactions by piece': {
    of: 'transactions',
    namesCurrency: false,
    write: (pieces) =>
      Buffer.from(
        [
          'order_id|sku|sku_status|sale_amount|commission|created_at',
          ...pieces.map(({ id, product, at, status, amount, commission, places }) =>
            [
              id,
              product,
              status,
              plain(amount, places),
              plain(commission, places),
              Math.floor(at / 1000),
            ].join('|'),
          ),
        ].join('\n'),
      ),
  },
};
