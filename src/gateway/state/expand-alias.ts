/** Bounds the nesting of aliases. */
const MAX_DEPTH = 5;

/**
 * The model names that a name stands for, in groups: the names of a group are equals, and earlier groups come first.
 * The alias `openai/gpt-5 | azure/gpt-5, openrouter/openai/gpt-5` has two groups. Its names may be aliases themselves;
 * an alias that contains its own name means the model of that name there.
 */
export function expandAlias(request: string, aliases: Readonly<Record<string, string>>): string[][] {
  return expand(Object.hasOwn(aliases, request) ? request : withoutContextSize(request), aliases, []);
}

/** The name without Claude Code's `[1m]`, which asks for the long context: by a header, not by the name. */
export const withoutContextSize = (name: string): string => name.replace(/\[1m\]$/i, '');

/** The groups of a list of names that belongs to no alias. */
export function expandAliasList(list: string, aliases: Readonly<Record<string, string>>): string[][] {
  return groupsIn(list, aliases, []);
}

function expand(name: string, aliases: Readonly<Record<string, string>>, parents: string[]): string[][] {
  const isAlias = Object.hasOwn(aliases, name) && !parents.includes(name) && parents.length < MAX_DEPTH;
  if (!isAlias) return [[name]];
  return groupsIn(aliases[name] ?? name, aliases, [...parents, name]);
}

function groupsIn(list: string, aliases: Readonly<Record<string, string>>, parents: string[]): string[][] {
  return partsOf(list, ',').flatMap((group) => {
    const equals = partsOf(group, '|').map((part) => expand(part, aliases, parents));
    return equals.length === 1 ? (equals[0] ?? []) : [equals.flat(2)];
  });
}

function partsOf(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
