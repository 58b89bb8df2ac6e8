import { type Calendar, createCalendar } from '../calendar.ts';
import { type LoadedSettings, loadSettings } from '../config/load.ts';
import type { ScalarKey, Settings } from '../config/settings.ts';
import { type Context, note } from './context.ts';

export type Flags = Partial<Record<ScalarKey, unknown>>;

/** The settings in force for a command, with their origins; what is wrong with the file is said on stderr. */
export function readSettings(context: Context, flags: Flags = {}): LoadedSettings {
  const loaded = loadSettings({ file: context.paths.config, env: context.env, flags });
  for (const problem of loaded.problems) note(context, `warning: ${problem}`);
  return loaded;
}

/** The settings and the calendar of their time zone. */
export function settingsAndCalendar(context: Context): { settings: Settings; calendar: Calendar } {
  const { settings } = readSettings(context);
  return { settings, calendar: createCalendar(settings.timezone) };
}
