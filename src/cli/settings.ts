import { type Calendar, createCalendar } from '../calendar.ts';
import { type LoadedSettings, loadSettings } from '../config/load.ts';
import type { ScalarKey, Settings } from '../config/settings.ts';
import { type Context, note } from './context.ts';

export type Flags = Partial<Record<ScalarKey, unknown>>;

/** What a command has said of the file. */
const told = new WeakMap<Context, Set<string>>();

/** The settings in force for a command, with their origins; what is wrong with the file is said on stderr, once. */
export function readSettings(context: Context, flags: Flags = {}): LoadedSettings {
  const loaded = loadSettings({ file: context.paths.config, env: context.env, flags });
  const said = told.get(context) ?? new Set();
  told.set(context, said);
  for (const problem of loaded.problems) {
    if (!said.has(problem)) note(context, `warning: ${problem}`);
    said.add(problem);
  }
  return loaded;
}

/** The settings and the calendar of their time zone. */
export function settingsAndCalendar(context: Context): { settings: Settings; calendar: Calendar } {
  const { settings } = readSettings(context);
  return { settings, calendar: createCalendar(settings.timezone) };
}
