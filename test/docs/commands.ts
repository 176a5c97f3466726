/** Splits shell text into the commands of one program: without a shell, because nothing of it is to run. */

type Token = { word: string } | { end: true };

/** `a 'b c' # d` and `; e`: words, and where a command ends. */
function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const pattern =
    /\\\n|(?<=^|\s)#[^\n]*|<\([^)]*\)|[\n;|&()<>]+|(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s;|&()<>'"\\])+/g;
  for (const [token] of text.matchAll(pattern)) {
    if (token === '\\\n' || token.startsWith('#')) continue;
    const isEnd = /^[\n;|&()<>]/.test(token) && !token.startsWith('<(');
    tokens.push(isEnd ? { end: true } : { word: unquoted(token) });
  }
  return tokens;
}

function unquoted(token: string): string {
  return token.replaceAll(/\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"/g, (_all, escaped, single, double) =>
    double === undefined ? (escaped ?? single) : double.replaceAll(/\\(["\\$`])/g, '$1'),
  );
}

/** The words after the program's name, of each command that starts it, with or without `npx` and variables before it. */
export function commandsIn(text: string, program: string): string[][] {
  const commands: string[][] = [[]];
  for (const token of tokensOf(text)) {
    if ('end' in token) commands.push([]);
    else commands.at(-1)?.push(token.word);
  }
  return commands.flatMap((words) => {
    const start = words.findIndex((word) => word !== 'npx' && !/^\w+=/.test(word));
    // A folder of the same name may follow a redirection.
    return words[start] === program && words.length > start + 1 ? [words.slice(start + 1)] : [];
  });
}
