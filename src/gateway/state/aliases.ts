/** A name can stand for another that stands for another, but not without end. */
const MAX_STEPS = 5;

/**
 * The names that a model name stands for, in groups: those of a group are equals, and an earlier group comes first.
 * An alias such as `openai/gpt-5 | azure/gpt-5, openrouter/openai/gpt-5` has two groups. Its names may be aliases
 * in turn; within itself it is taken for the model.
 */
export function namesFor(request: string, aliases: Readonly<Record<string, string>>): string[][] {
  return expand(request, aliases, []);
}

/** The groups of a list such as an alias has, which stands under a name that is none in itself. */
export function namesInList(list: string, aliases: Readonly<Record<string, string>>): string[][] {
  return groupsIn(list, aliases, []);
}

function expand(name: string, aliases: Readonly<Record<string, string>>, within: string[]): string[][] {
  const isAlias = Object.hasOwn(aliases, name) && !within.includes(name) && within.length < MAX_STEPS;
  if (!isAlias) return [[name]];
  return groupsIn(aliases[name] ?? name, aliases, [...within, name]);
}

function groupsIn(list: string, aliases: Readonly<Record<string, string>>, within: string[]): string[][] {
  return partsOf(list, ',').flatMap((group) => {
    const equals = partsOf(group, '|').map((part) => expand(part, aliases, within));
    return equals.length === 1 ? (equals[0] ?? []) : [equals.flat(2)];
  });
}

function partsOf(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
