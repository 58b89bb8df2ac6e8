import { namesIn } from './tiers.ts';

/**
 * A loop of aliases that contains `name`, such as `a, b, a`; undefined if there is none. An alias that names itself
 * beside other models is no loop: there, its name means the model.
 */
export function aliasLoop(name: string, aliases: Readonly<Record<string, string>>): string[] | undefined {
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
