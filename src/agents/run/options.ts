/**
 * Removes an option with a value from an agent's arguments: `--name value` or `--name=value`. Arguments after `--` are
 * text. Occurrences whose value `isWanted` rejects stay.
 */
export function takeOption(
  args: readonly string[],
  names: readonly string[],
  isWanted: (value: string) => boolean = () => true,
) {
  const values: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') return { values, rest: [...rest, ...args.slice(i)] };
    const name = names.find((each) => arg === each || arg.startsWith(`${each}=`));
    const inline = name !== undefined && arg !== name;
    const value = name === undefined ? undefined : inline ? arg.slice(name.length + 1) : args[i + 1];
    if (value === undefined || !isWanted(value)) {
      rest.push(arg);
      continue;
    }
    values.push(value);
    if (!inline) i++;
  }
  return { values, rest };
}

/** The last value of an option; undefined if it is absent. */
export function optionValue(args: readonly string[], ...names: string[]): string | undefined {
  return takeOption(args, names).values.at(-1);
}

/** Whether the arguments before `--` contain a flag. */
export function hasFlag(args: readonly string[], ...names: string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? args.length : end).some((arg) => names.includes(arg));
}
