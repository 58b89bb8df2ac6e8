type Aliases = Readonly<Record<string, string>>;

/** Bounds the nesting of aliases. */
const MAX_DEPTH = 5;

/** The model names in a list such as `a, b | c`. */
export const namesIn = (models: string): string[] => partsOf(models, /[,|]/);

/**
 * The model names that a name stands for, in groups: the names of a group are equals, and earlier groups come first.
 * The alias `openai/gpt-5 | azure/gpt-5, openrouter/openai/gpt-5` has two groups. Its names may be aliases themselves;
 * an alias that contains its own name means the model of that name there.
 */
export function expandAlias(request: string, aliases: Aliases): string[][] {
  return expand(Object.hasOwn(aliases, request) ? request : withoutContextSize(request), aliases, []);
}

/** The same for a list of names, in the syntax of an alias. */
export function groupsIn(list: string, aliases: Aliases, parents: string[] = []): string[][] {
  return partsOf(list, ',').flatMap((group) => {
    const equals = partsOf(group, '|').map((part) => expand(part, aliases, parents));
    return equals.length === 1 ? (equals[0] ?? []) : [equals.flat(2)];
  });
}

/** The name without Claude Code's `[1m]`, which asks for the long context: by a header, not by the name. */
export const withoutContextSize = (name: string): string => name.replace(/\[1m\]$/i, '');

/**
 * A loop of aliases that contains `name`, such as `a, b, a`; undefined if there is none. An alias that names itself
 * beside other models is no loop: there, its name means the model.
 */
export function aliasLoop(name: string, aliases: Aliases): string[] | undefined {
  const own = namesIn(aliases[name] ?? '');
  if (own.length > 0 && own.every((each) => each === name)) return [name, name];
  const seen = new Set<string>();
  function search(from: string, path: string[]): string[] | undefined {
    for (const next of namesIn(aliases[from] ?? '')) {
      if (next === name && from !== name) return [...path, next];
      if (seen.has(next) || !Object.hasOwn(aliases, next)) continue;
      seen.add(next);
      const loop = search(next, [...path, next]);
      if (loop) return loop;
    }
    return undefined;
  }
  seen.add(name);
  return search(name, [name]);
}

/** Error message with the whole loop. */
export function loopMessage(loop: readonly string[]): string {
  return loop.length === 2
    ? `the alias "${loop[0]}" stands for nothing but itself`
    : `the alias leads back to itself: ${loop.join(' > ')}`;
}

/** The parts of a text between separators, without those that are empty. */
export function partsOf(text: string, separator: string | RegExp): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function expand(name: string, aliases: Aliases, parents: string[]): string[][] {
  const isAlias = Object.hasOwn(aliases, name) && !parents.includes(name) && parents.length < MAX_DEPTH;
  if (!isAlias) return [[name]];
  return groupsIn(aliases[name] ?? name, aliases, [...parents, name]);
}
