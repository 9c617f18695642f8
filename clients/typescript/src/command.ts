/** A command line for a shell, or a program and its arguments, without a shell. */
export type Command = string | readonly [string, ...string[]] | readonly string[];

/** A value in a template: an argument or a part of one, or a list of arguments. */
export type TemplateValue = string | number | readonly (string | number)[];

/** The members of params that name a command. */
export function commandParams(command: Command): { command: string } | { argv: [string, ...string[]] } {
  return typeof command === 'string' ? { command } : { argv: [...command] as [string, ...string[]] };
}

/** A command for people. */
export function commandText(command: Command): string {
  return typeof command === 'string' ? command : command.join(' ');
}

const operators = new Set(['|', '||', '&', '&&', ';', '<', '>', '>>', '2>', '2>&1']);

/**
 * Returns the arguments of a template. Blanks in its texts part arguments, quotes in them group; a value is
 * never split or interpreted, whatever is in it. A list becomes an argument for each of its items.
 */
export function templateArguments(texts: readonly string[], values: readonly TemplateValue[]): string[] {
  const list: string[] = [];
  let word: string | undefined; // undefined: between words
  let quote = '';
  let plain = true; // all of the word is unquoted text
  const end = () => {
    if (word === undefined) return;
    if (plain && operators.has(word)) {
      throw new TypeError(`there is no shell for the ${word} in the template: use run() with a string, or quote it`);
    }
    list.push(word);
    word = undefined;
    plain = true;
  };
  texts.forEach((text, i) => {
    for (const character of text) {
      if (quote !== '') {
        if (character === quote) quote = '';
        else word += character;
      } else if (character === '"' || character === "'") {
        quote = character;
        word ??= '';
        plain = false;
      } else if (/\s/.test(character)) {
        end();
      } else {
        word = (word ?? '') + character;
      }
    }
    if (i >= values.length) return;
    const value = values[i]!;
    if (typeof value !== 'object') {
      word = (word ?? '') + String(value);
      plain = false;
    } else {
      if (word !== undefined) throw new TypeError('a list in a template is arguments of its own: put blanks around it');
      list.push(...value.map(String));
    }
  });
  if (quote !== '') throw new TypeError(`a ${quote} in the template is not closed`);
  end();
  if (list.length === 0) throw new TypeError('the template is empty: it has to begin with a program');
  return list;
}
