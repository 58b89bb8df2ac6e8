import { Option } from 'commander';
import { openSettingsFile } from '../../config/save.ts';
import { readSecrets } from '../../config/secrets.ts';
import type { Provider } from '../../providers/registry.ts';
import { type Column, table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { duration } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { announceChange } from '../config/announce-change.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { type AddOptions, addProvider } from '../providers/add-provider.ts';
import { knownProviders } from '../providers/known-providers.ts';
import { type Probe, probeProvider } from '../providers/probe-provider.ts';
import { readSettings } from '../settings.ts';

export const providers: SetUp = (command, context) => {
  command
    .command('add <name>')
    .description('add a provider; prompts for its key unless the environment has it')
    .option('--base-url <url>', 'its base URL, up to /v1; gw knows that of many providers')
    .addOption(
      new Option('--key-env <variable>', 'environment variable that holds the key').conflicts('stdin'),
    )
    .option('--stdin', 'read the key from stdin')
    .addOption(new Option('--key <key>').hideHelp())
    .addOption(new Option('--wire <wire>', 'API that it speaks').choices(['openai', 'anthropic']))
    .action((name: string, options: AddOptions) => add(context, name, options));
  command
    .command('list')
    .description('list the providers and where their keys come from')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => list(context, json));
  command
    .command('test [name]')
    .description('check that each provider, or one, is reachable and accepts its key')
    .option('--json', 'print JSON')
    .action((name: string | undefined, { json }: { json?: boolean }) => test(context, name, json));
  command
    .command('remove <name>')
    .description('remove a provider and its stored key')
    .action((name: string) => remove(context, name));
};

async function add(context: Context, name: string, options: AddOptions): Promise<void> {
  const keyNote = await addProvider(context, name, options);
  note(context, `Added provider ${name}: ${keyNote}. Next: gw providers test ${name}`);
}

function list(context: Context, json = false): void {
  const registry = knownProviders(context);
  const rows = [...registry.providers.values()];
  const { problems } = registry;
  if (json) {
    sayJson(context, { providers: rows.map(providerJson), problems });
    return;
  }
  for (const { name, message } of problems) note(context, `! ${name} ${message}`);
  const columns: Column<Provider>[] = [
    { header: 'provider', value: ({ name }) => name, shrinks: true },
    { header: 'address', value: ({ origin, basePath }) => origin + basePath, shrinks: true },
    { header: 'key', value: ({ keySource }) => keySource },
    { header: 'source', value: ({ source }) => source },
  ];
  if (rows.length === 0) {
    note(
      context,
      'No providers yet; the built-in sandbox/* models work. To add one: gw providers add openai',
    );
    return;
  }
  say(context, table(rows, columns, { terminal: terminalOf(context.stdout, context.env) }).join('\n'));
}

function providerJson({
  name,
  origin,
  basePath,
  wire,
  keySource,
  source,
}: Provider): Record<string, unknown> {
  return { name, base_url: origin + basePath, wire, key_source: keySource, source };
}

async function test(context: Context, name: string | undefined, json = false): Promise<void> {
  const registry = knownProviders(context);
  const broken = registry.problems
    .filter((problem) => name === undefined || problem.name === name)
    .map((problem): Probe => ({ ...problem, ok: false, durationMs: 0 }));
  const targets = [...registry.providers.values()].filter(
    (provider) => name === undefined || provider.name === name,
  );
  if (name !== undefined && targets.length + broken.length === 0) throw unknownProvider(name);
  const probes = await Promise.all(
    targets.map((provider) => probeProvider(provider, context.clock.monotonic)),
  );
  const results = [...broken, ...probes];
  if (json) sayJson(context, results.map(resultJson));
  else say(context, results.map(resultLine).join('\n') || 'No providers to test.');
  if (results.some(({ ok }) => !ok)) throw new CliError('not all providers work', EXIT.failure);
}

function resultLine({ name, ok, message, durationMs }: Probe): string {
  return `${ok ? 'ok' : 'X '}  ${name}: ${message}${ok ? ` in ${duration(durationMs)}` : ''}`;
}

function resultJson({ name, ok, message, durationMs }: Probe): Record<string, unknown> {
  return { name, ok, message, duration_ms: durationMs };
}

async function remove(context: Context, name: string): Promise<void> {
  if (!Object.hasOwn(readSettings(context).settings.providers, name)) throw unknownProvider(name);
  const hadKey = Object.hasOwn(readSecrets(context.paths.credentials), name);
  (await openSettingsFile(context.paths.config)).delete(['providers', name]);
  if (hadKey) (await openSettingsFile(context.paths.credentials)).delete([name]);
  await announceChange(context);
  const still = knownProviders(context).providers.get(name);
  note(
    context,
    `Removed provider ${name}${hadKey ? ' and its stored key' : ''}.${still ? ` It stays available through ${still.keySource}.` : ''}`,
  );
}

function unknownProvider(name: string): CliError {
  return new CliError(`no provider "${name}". See: gw providers list`, EXIT.notFound);
}
