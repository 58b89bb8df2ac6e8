import { existsSync } from 'node:fs';
import { type Calendar, createCalendar } from '../calendar.ts';
import { type LoadedSettings, loadSettings, loadSoundSettings } from '../config/load.ts';
import type { ScalarKey, Settings } from '../config/settings.ts';
import type { Network } from '../network/network.ts';
import { bumpConfigurationEpoch } from '../store/database/write.ts';
import { type Context, note } from './context.ts';

export type Flags = Partial<Record<ScalarKey, unknown>>;

/** Warnings that a command has already printed. */
const warnings = new WeakMap<Context, Set<string>>();

/** The settings in force for a command, with their origins. Problems with the file are printed once, on stderr. */
export function readSettings(context: Context, flags: Flags = {}): LoadedSettings {
  const loaded = loadSettings({ file: context.paths.config, env: context.env, flags });
  const printed = warnings.get(context) ?? new Set();
  warnings.set(context, printed);
  for (const problem of loaded.problems) {
    if (!printed.has(problem)) note(context, `warning: ${problem}`);
    printed.add(problem);
  }
  return loaded;
}

/** As `readSettings`, for a start of the daemon: throws if anything is wrong in the file. */
export function soundSettings(context: Context, flags: Flags): LoadedSettings {
  return loadSoundSettings({ file: context.paths.config, env: context.env, flags });
}

/** The settings, and the calendar of the configured time zone. */
export function settingsAndCalendar(context: Context): { settings: Settings; calendar: Calendar } {
  const { settings } = readSettings(context);
  return { settings, calendar: createCalendar(settings.timezone) };
}

/** The way out to other machines, by this machine's settings and the environment. Loads the HTTP client. */
export async function networkOf(context: Context): Promise<Network> {
  const { settings } = readSettings(context);
  const { createNetwork } = await import('../network/network.ts');
  return createNetwork({
    proxyUrl: settings['proxy.url'],
    caFile: settings['tls.ca_file'],
    env: context.env,
  });
}

/** Makes a running daemon reload settings and credentials before its next request. */
export async function announceChange({ paths }: Context): Promise<void> {
  if (!existsSync(paths.database)) return;
  const { openDatabase } = await import('../store/database/open.ts');
  const db = await openDatabase(paths.database);
  try {
    bumpConfigurationEpoch(db);
  } finally {
    db.close();
  }
}
