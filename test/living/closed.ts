/** Whether what commands say of closed months is what the books say, to the last digit. */
import { type JsonObject, isJsonObject } from '../../shared/json.ts';
import { runCli } from '../cli/run-cli.ts';
import { exactly, literalOf, numberForm, unlike } from '../simulation/forms.ts';
import type { LivedLife } from './months.ts';
import { changedSince } from './since-close.ts';

/** @param folder the whole lake, as files */
export async function wrongSinceClose({ books, closes }: LivedLife, folder: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const { month, entries } of closes) {
    const { changes } = await documentOf('since-close', month, '--json', '--lake', folder);
    const expected = [...changedSince(entries, books.entries, month)].map(([of, sums]) =>
      formOf([of, sums.records, ...SUMS.map(([name]) => unitsForm(sums[name]))]),
    );
    const found = objectsIn(changes).map((row) => {
      const of = ['report', 'publisher_id', 'currency', 'state', 'what'].map(
        (name) => row[name] ?? undefined,
      );
      return formOf([of.join(' '), row.records, ...SUMS.map(([, name]) => valueForm(row[name]))]);
    });
    wrong.push(...differences(`since ${month}`, expected, found));
  }
  return wrong;
}

const SUMS = [
  ['correction', 'correction'],
  ['amountThen', 'amount_then'],
  ['amountNow', 'amount_now'],
  ['commissionThen', 'commission_then'],
  ['commissionNow', 'commission_now'],
] as const;

async function documentOf(...args: string[]): Promise<JsonObject> {
  const { stdout, stderr } = await runCli(args);
  const parsed = exactly(stdout === '' ? '{}' : stdout);
  if (stdout === '' || !isJsonObject(parsed)) throw new Error(`${args.join(' ')}: ${stderr}`);
  return parsed;
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function differences(at: string, expected: readonly string[], found: readonly string[]): string[] {
  const { missing, surplus } = unlike(expected, found);
  return [
    ...missing.map((line) => `${at}: the books have ${line}`),
    ...surplus.map((line) => `${at}: the lake has ${line}`),
  ];
}

function formOf(cells: readonly unknown[]): string {
  return cells.map((cell) => (cell === undefined || cell === null ? '-' : String(cell))).join(' ');
}

function unitsForm(units: bigint | undefined): string | undefined {
  return units === undefined ? undefined : numberForm(`${units}e-9`);
}

/** Decimals are texts or numbers. */
function valueForm(value: JsonObject[string] | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return numberForm(typeof value === 'string' ? value : (literalOf(value) ?? ''));
}
