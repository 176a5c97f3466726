import { parseSync, Visitor } from 'oxc-parser';

/** What a person reads in one go: a paragraph, a list item, a cell, a heading, a comment or a message. */
export interface Text {
  kind: 'heading' | 'prose';
  /** With `CODE` for each piece of code, and one space between words. */
  text: string;
  /** The line of a position in `text`, from 1. */
  lineAt(position: number): number;
}

/** Stands for an identifier, a placeholder or a block of code: one word, which no phrase matches by accident. */
export const CODE = '`_`';

interface Line {
  text: string;
  line: number;
}

function textOf(kind: Text['kind'], lines: readonly Line[]): Text[] {
  let text = '';
  const starts: { at: number; line: number }[] = [];
  for (const { text: raw, line } of lines) {
    const part = raw.replaceAll(/\s+/g, ' ').trim();
    if (part === '') continue;
    if (text !== '') text += ' ';
    starts.push({ at: text.length, line });
    text += part;
  }
  const lineAt = (position: number) => starts.findLast(({ at }) => at <= position)?.line ?? 0;
  return text === '' ? [] : [{ kind, text, lineAt }];
}

/** Backticks may span lines, so the code of a whole block goes before its lines are joined. */
function withoutCode(text: string): string {
  return text
    .replaceAll(/``[^`]+``|`[^`]+`/g, (code) => CODE + '\n'.repeat(code.split('\n').length - 1))
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/https?:\/\/\S+/g, CODE)
    .replaceAll(/\*\*|__/g, '');
}

const LIST_ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/;
const FENCE = /^( *)(```+|~~~+)[\s\S]*?^\1\2/gm;
const HTML = /<!--[\s\S]*?-->|<\/?[a-z][^>]*>/g;

/** The texts of a page. Code blocks, tags and the targets of links are none. */
export function textsOfPage(page: string): Text[] {
  const blank = (block: string) => block.replaceAll(/[^\n]/g, '');
  return textsOfProse(page.replaceAll(FENCE, blank).replaceAll(HTML, blank), 1);
}

/** Splits at empty lines, list items, headings, tags such as `@throws` and the cells of tables. */
function textsOfProse(prose: string, firstLine: number): Text[] {
  const texts: Text[] = [];
  let open: Line[] = [];
  const close = () => {
    texts.push(...textOf('prose', open));
    open = [];
  };
  for (const [index, raw] of withoutCode(prose).split('\n').entries()) {
    const line = firstLine + index;
    const heading = /^#{1,6} (.*)$/.exec(raw)?.[1];
    if (heading !== undefined || /^\s*(?:\||@\w|$)/.test(raw) || LIST_ITEM.test(raw)) close();
    if (heading !== undefined) texts.push(...textOf('heading', [{ text: heading, line }]));
    else if (/^\s*\|/.test(raw)) {
      for (const cell of raw.split(/(?<!\\)\|/)) texts.push(...textOf('prose', [{ text: cell, line }]));
    } else open.push({ text: raw.replace(LIST_ITEM, '').replace(/^\s*> ?/, ''), line });
  }
  close();
  return texts;
}

/** The texts of a script or a YAML file: comments that have a line of their own. */
export function textsOfScript(source: string): Text[] {
  const comments = source.split('\n').map((line) => /^\s*# ?(?!!)(.*)$/.exec(line)?.[1] ?? '');
  return textsOfProse(comments.map((comment) => comment.replace(/^#+/, '')).join('\n'), 1);
}

const DIRECTIVE = /^\*?\s*(?:biome-|oxlint-|@ts-|@type |\/ <reference)/;
/** Three words in a row: neither an identifier nor a path or an option. */
const SENTENCE = /\p{L}[\p{L}’'-]*,? [\p{L}’'-]+,? \p{L}[\p{L}’'-]*/u;
/** SQL, a query of CloudWatch, a style sheet, a script. */
const OTHER_LANGUAGE =
  /^#!|^[\s(]*(?:SELECT|WITH|CREATE|DROP|INSERT|UPDATE|DELETE|ALTER|FROM|WHERE|GROUP|ORDER|UNION|LEFT|JOIN|CASE|WHEN|AND|ATTACH|COPY|SET|LOAD|fields)\s|\b(?:SELECT|CASE WHEN|LEFT JOIN|OVER \() |[\w-]+: [^;{}]+;[^{}]*\}|' \|\| |=> |\{[{%]|^\s*(?:const|import|export) /;

type Parsed = ReturnType<typeof parseSync>;
type Comments = Parsed['comments'];

/** The texts of a TypeScript or JavaScript file: its comments, and the strings that are sentences. */
export function textsOfCode(file: string, source: string): Text[] {
  const { program, comments, errors } = parseSync(file, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} cannot be parsed: ${error.message}`);
  const lines = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineOf = (position: number) => lines.findLastIndex((start) => start <= position) + 1;
  return [
    ...textsOfComments(comments, lineOf),
    ...messagesOf(program).flatMap(({ start, value }) => {
      const line = lineOf(start);
      // Each line of a message is a text of its own: its layout is not that of prose.
      const readable = value.replaceAll(HTML, '\n').replaceAll('\n', '\n\n');
      return textsOfProse(readable, line).map((text) => ({ ...text, lineAt: () => line }));
    }),
  ];
}

/** Line comments that follow each other are one text. */
function textsOfComments(comments: Comments, lineOf: (position: number) => number): Text[] {
  const blocks: { type: string; prose: string; first: number; last: number }[] = [];
  for (const { type, value, start, end } of comments) {
    if (DIRECTIVE.test(value)) continue;
    const [first, last] = [lineOf(start), lineOf(end)];
    const previous = blocks.at(-1);
    if (type === 'Line' && previous?.type === 'Line' && previous.last === first - 1) {
      previous.prose += `\n${value}`;
      previous.last = last;
    } else blocks.push({ type, prose: value, first, last });
  }
  return blocks.flatMap(({ prose, first }) => textsOfProse(prose.replaceAll(/^[ \t]*\*+ ?/gm, ''), first));
}

/** Strings that are sentences. */
function messagesOf(program: Parsed['program']): { start: number; value: string }[] {
  const messages: { start: number; value: string }[] = [];
  const add = (start: number, value: string) => {
    if (SENTENCE.test(value) && !OTHER_LANGUAGE.test(value)) messages.push({ start, value });
  };
  new Visitor({
    Literal({ start, value }) {
      if (typeof value === 'string') add(start, value);
    },
    TemplateLiteral({ start, quasis }) {
      add(start, quasis.map(({ value }) => value.cooked ?? '').join(CODE));
    },
  }).visit(program);
  return messages;
}
