import { MAP_KEYS, MAPS, mapEntryOf } from '../../config/maps.ts';
import { providerSettingOf } from '../../config/provider-settings.ts';
import {
  DEFINITIONS,
  isScalarKey,
  type ProviderSettings,
  SCALAR_KEYS,
  type ScalarKey,
} from '../../config/settings.ts';
import { type Plain, writtenOf } from '../../config/written.ts';
import { withoutPassword } from '../../proxy-address.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { widthOf, wrap } from '../../terminal/text.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { changeSetting, deleteIgnored, noteTypos, unknownSetting } from '../config/change.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { readSwitchedOff } from '../optimize/report.ts';
import { announceChange, readSettings } from '../settings.ts';

/** Settings that the daemon reads only at start. */
const AT_START: readonly ScalarKey[] = [
  'port',
  'host',
  'server.tls_cert',
  'server.tls_key',
  'metrics.otlp_endpoint',
];

export const config: SetUp = (command, context) => {
  command
    .command('get <key>')
    .description('print a setting')
    .option(...AS_JSON)
    .action((key, { json }) => {
      const value = settingOf(context, key);
      if (json) sayJson(context, value);
      else say(context, String(value));
    });
  command
    .command('set <key> <value>')
    .description(
      'change a setting. Besides those of gw config list: aliases.NAME (another name for a model), optimizer.projects.NAME (level of a project), fees.NAME (price of a tool in dollars), tiers.MODEL (tiers that gw chooses between), routing.shares.NAME (strong share of a project), replay.projects.NAME and replay.keys.ID (how long answers are replayed), providers.NAME.proxy (proxy to a provider), providers.NAME.dialect.ENTRY (what a provider does differently: gw providers show NAME)',
    )
    .option('--yes', 'do not ask before records are deleted (retention.requests)')
    .action((key, value, { yes }) => set(context, key, value, yes));
  command
    .command('unset <key>')
    .description('reset a setting to its default')
    .option('--yes', 'do not ask before records are deleted (retention.requests)')
    .action(async (key, { yes }) => {
      const { retired, unknown } = readSettings(context);
      const path = unknown.find((each) => each.join('.') === key);
      if (!path && !retired.includes(key)) return set(context, key, undefined, yes);
      await deleteIgnored(context, path ?? key.split('.'));
      note(context, `Deleted ${key} from ${context.paths.config}. This version of gw ignored it.`);
    });
  list(command, context);
  command
    .command('path')
    .description('print the path of the settings file')
    .action(() => say(context, context.paths.config));
};

function settingOf(context: Context, key: string): Plain {
  const { settings } = readSettings(context);
  const entry = mapEntryOf(key);
  const setting = isScalarKey(key)
    ? settings[key]
    : entry
      ? settings[entry.map][entry.name]
      : providerValue(settings.providers, key);
  if (setting === undefined) throw unknownSetting(key);
  return shown(key, writtenOf(setting));
}

function providerValue(providers: Readonly<Record<string, ProviderSettings>>, key: string) {
  const setting = providerSettingOf(key);
  const settings =
    setting && Object.hasOwn(providers, setting.provider) ? providers[setting.provider] : undefined;
  return settings && setting?.valueIn(settings);
}

async function set(context: Context, key: string, text?: string, yes?: boolean): Promise<void> {
  const value = await changeSetting(context, key, text, yes);
  await announceChange(context);
  if (key === 'requests.keep_bodies') await noteKeptBodies(context, value === 'on');
  const change =
    value === undefined
      ? `Reset ${key} to its default.`
      : `Set ${key} to ${JSON.stringify(shown(key, value))}.`;
  const when = AT_START.some((k) => k === key) ? 'after: gw restart' : 'from the next request.';
  note(context, `${change} It applies ${when}`);
  if (!isScalarKey(key)) {
    const entry = mapEntryOf(key);
    if (entry && text !== undefined) await noteTypos(context, entry, text);
    return;
  }
  const { environment } = DEFINITIONS[key];
  if (readSettings(context).origins[key] === 'environment')
    note(context, `${environment} is set in the environment and overrides it.`);
}

/** Says where bodies are from now on, or deletes those that are there: gw may not be running. */
async function noteKeptBodies(context: Context, isOn: boolean): Promise<void> {
  const { bodies } = context.paths;
  if (isOn)
    return note(
      context,
      `Bodies hold prompts. gw keeps them for 24 hours in ${bodies}, unencrypted, readable by your user alone.`,
    );
  const { removeBodies } = await import('../../store/requests/kept-bodies.ts');
  await removeBodies(bodies);
}

const list: SetUp = (command, context) =>
  command
    .command('list')
    .description('list the settings')
    .option('--origin', 'show where each value comes from: environment, config, default')
    .option(...AS_JSON)
    .action(async ({ origin, json }) => {
      const { settings, origins } = readSettings(context);
      const switchedOff = await readSwitchedOff(context);
      const scalars: Entry[] = SCALAR_KEYS.map((key) => ({
        key,
        value: shown(key, writtenOf(settings[key])),
        origin: originText(key, origins[key]),
        about: DEFINITIONS[key].about,
      }));
      const mapEntries: Entry[] = MAP_KEYS.flatMap((map) =>
        Object.entries(settings[map]).map(([name, value]) => ({
          key: `${map}.${name}`,
          value: writtenOf(value),
          origin: 'config',
          about:
            map === 'optimizer.projects' && switchedOff.has(name)
              ? 'switched off automatically, because it cost more than it saved: gw optimize report'
              : MAPS[map].about,
        })),
      );
      if (json) {
        const data = ({ value, origin: from }: Entry) => (origin ? { value, origin: from } : value);
        const values = [...scalars, ...mapEntries].map((entry) => [entry.key, data(entry)]);
        return sayJson(context, Object.fromEntries(values));
      }
      const terminal = screenOf(context);
      const lines = origin
        ? originLines([...scalars, ...mapEntries], terminal)
        : settingLines(scalars, mapEntries, terminal);
      say(context, lines.join('\n'));
    });

/** A value for display: that of a proxy may hold a password. */
function shown<T extends Plain>(key: string, value: T): T | string {
  return typeof value === 'string' && /\bproxy(\.url)?$/.test(key) ? withoutPassword(value) : value;
}

function originText(key: ScalarKey, origin: string): string {
  return origin === 'environment' ? `environment ${DEFINITIONS[key].environment}` : origin;
}

/** A row of `gw config list`. */
interface Entry {
  key: string;
  value: Plain;
  origin: string;
  about: string;
}

const SETTING: Column<Entry> = { header: 'setting', value: ({ key }) => key };
const VALUE: Column<Entry> = { header: 'value', value: ({ value }) => String(value) };
const ORIGIN: Column<Entry> = { header: 'source', value: ({ origin }) => origin };
const ABOUT: Column<Entry> = { header: 'description', value: ({ about }) => about };
const GAP = 2;
const MIN_ABOUT = 20;

/** Settings with the source of each value. The values come last, because a list of models can be long. */
function originLines(entries: Entry[], terminal: Terminal): string[] {
  return table(entries, [SETTING, ORIGIN, VALUE], { terminal });
}

/** Settings with their descriptions. Entries that users name, whose values can be long, get a second table. */
function settingLines(scalars: Entry[], mapEntries: Entry[], terminal: Terminal): string[] {
  const lines = table(aboutBeside(scalars, terminal.columns), [SETTING, VALUE, ABOUT], { terminal });
  if (mapEntries.length === 0) return lines;
  return [...lines, '', ...table(aboutBelow(mapEntries, terminal.columns), [SETTING, VALUE], { terminal })];
}

/** Rows with the description next to the value, wrapped over as many lines as needed. */
function aboutBeside(entries: Entry[], columns: number): Entry[] {
  const room = Math.max(MIN_ABOUT, columns - widest(entries, SETTING) - widest(entries, VALUE) - 2 * GAP);
  return entries.flatMap((entry) =>
    wrap(entry.about, room).map((about, i) =>
      i === 0 ? { ...entry, about } : { ...entry, key: '', value: '', about },
    ),
  );
}

function aboutBelow(entries: Entry[], columns: number): Entry[] {
  const room = Math.max(MIN_ABOUT, columns - widest(entries, SETTING) - GAP);
  return entries.flatMap((entry) => [
    entry,
    ...wrap(entry.about, room).map((line) => ({ ...entry, key: '', value: line })),
  ]);
}

function widest(entries: Entry[], { header, value }: Column<Entry>): number {
  return Math.max(...[header, ...entries.map((entry) => value(entry, 0))].map(widthOf));
}
