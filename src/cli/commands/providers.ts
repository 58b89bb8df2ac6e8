import { Option } from 'commander';
import { openSettingsFile } from '../../config/save.ts';
import { readSecrets } from '../../config/secrets.ts';
import { wayText } from '../../network/way-out.ts';
import { learntText } from '../../providers/manners.ts';
import { usdText } from '../../terminal/numbers.ts';
import { duration } from '../../terminal/time.ts';
import { AS_JSON, type SetUp, UNASKED } from '../command.ts';
import { note, say, sayJson } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { knownProviders } from '../known-providers.ts';
import { printList } from '../print-list.ts';
import { addProvider } from '../providers/add-provider.ts';
import { type Probe, probeProvider, wayJson } from '../providers/probe-provider.ts';
import { type ProviderView, viewProvider } from '../providers/show-provider.ts';
import { type Trial, tryProvider } from '../providers/try-provider.ts';
import { announceChange, networkOf, readSettings } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';

const APIS = ['openai', 'anthropic', 'gemini'] as const;
const KINDS = [...APIS, 'azure', 'bedrock', 'vertex'] as const;

export const providers: SetUp = (command, context) => {
  command
    .command('add <name>')
    .description('add a provider; prompts for its key unless the environment has it')
    .option('--base-url <url>', 'its base URL, up to /v1; gw knows that of many providers')
    .addOption(
      new Option('--key-env <variable>', 'environment variable that holds the key').conflicts('stdin'),
    )
    .option('--stdin', 'read the key from stdin')
    .option('--proxy <url>', 'proxy to it alone, or none to go past that of the environment')
    .option('--prices-of <provider>', 'bill it at the prices of another provider')
    .addOption(
      new Option(
        '--kind <kind>',
        'API that it speaks, or the cloud that it is, if its name does not say it',
      ).choices(KINDS),
    )
    .option('--region <region>', 'bedrock, vertex: region of the cloud')
    .option('--profile <profile>', 'bedrock: AWS profile with the credentials, instead of a key')
    .addOption(
      new Option('--surface <surface>', 'bedrock: its APIs; default runtime').choices([
        'runtime',
        'mantle',
        'invoke',
      ] as const),
    )
    .option('--project <project>', 'vertex: project of Google Cloud')
    .option('--resource <resource>', 'azure: name of the resource')
    .option('--deployment <name=model...>', 'azure, bedrock: model behind a name that does not say it')
    .option('--entra', 'azure: tokens of Entra ID, instead of a key')
    .addOption(new Option('--key <key>').hideHelp())
    .addOption(new Option('--wire <kind>').choices(APIS).hideHelp())
    .action(async (name, options) => {
      const keyNote = await addProvider(context, name, options);
      note(context, `Added provider ${name}: ${keyNote}. Next: gw providers test ${name}`);
    });
  list(command, context);
  show(command, context);
  test(command, context);
  remove(command, context);
};

const list: SetUp = (command, context) =>
  command
    .command('list')
    .description('list the providers and where their keys come from')
    .option(...AS_JSON)
    .action(async ({ json }) => {
      const { providers, problems } = await withGateway(context, (reader) => reader.providers());
      if (!json) for (const { name, message } of problems) note(context, `! ${name} ${message}`);
      printList(
        context,
        providers,
        [
          { header: 'provider', value: ({ name }) => name, shrinks: true },
          { header: 'address', value: ({ base_url }) => base_url, shrinks: true },
          { header: 'key', value: ({ key_source }) => key_source },
          { header: 'source', value: ({ source }) => source },
        ],
        {
          json,
          data: { providers, problems },
          empty: 'No providers yet; the built-in sandbox/* models work. To add one: gw providers add openai',
        },
      );
    });

const show: SetUp = (command, context) =>
  command
    .command('show <name>')
    .description('show what gw knows of a provider: address, APIs, dialect, and what its refusals have told')
    .option(...AS_JSON)
    .action(async (name, { json }) => {
      const provider = knownProviders(context).providers.get(name);
      if (!provider) throw unknownProvider(name);
      const view = await viewProvider(context, provider);
      if (json) return sayJson(context, view);
      say(context, shownLines(view).join('\n'));
    });

function shownLines({
  name,
  kind,
  base_url,
  credential,
  apis,
  dialect,
  dialect_of,
  learnt,
  deployments,
  prices_of,
}: ProviderView): string[] {
  const manners = Object.entries(dialect).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`);
  const refused = learnt.map((each) => `  ${learntText(each)}, remembered until ${each.until}`);
  const deployed = deployments.map(
    ({ name, model, source }) => `  ${name} = ${model}${source === 'answer' ? ', as its answers say' : ''}`,
  );
  const why =
    dialect_of === null ? ', as gw assumes of a provider that it does not know' : ` (${dialect_of})`;
  return [
    `${name}: ${base_url}, API of ${kind}, key: ${credential.source}${credential.expires_at === null ? '' : `, until ${credential.expires_at}`}`,
    `APIs: ${apis.join(', ')}   prices: ${prices_of ?? 'those that you set (gw prices set)'}`,
    ...(deployed.length > 0 ? ['Deployments:', ...deployed] : []),
    ...(manners.length > 0 ? [`Differs from the documents of its API${why}:`, ...manners] : []),
    ...(refused.length > 0 ? ['Learnt from its refusals:', ...refused] : []),
  ];
}

const test: SetUp = (command, context) =>
  command
    .command('test [name]')
    .description(
      'check that each provider is reachable and accepts its key; one: with the smallest real request',
    )
    .option('--model <model>', 'model to ask; default: the cheapest whose price gw knows')
    .option('--full', 'a tool call and a stream besides')
    .option(...AS_JSON)
    .action(async (name, { json, model, full = false }) => {
      if (name === undefined && (model !== undefined || full))
        throw new CliError('--model and --full need a provider: gw providers test NAME', EXIT.usage);
      const registry = knownProviders(context);
      const isAsked = (each: { name: string }) => name === undefined || each.name === name;
      const broken = registry.problems
        .filter(isAsked)
        .map((problem): Probe => ({ ...problem, ok: false, durationMs: 0 }));
      const targets = [...registry.providers.values()].filter(isAsked);
      if (name !== undefined && targets.length + broken.length === 0) throw unknownProvider(name);
      const options = { network: await networkOf(context), monotonic: context.clock.monotonic };
      const probes = await Promise.all(targets.map((provider) => probeProvider(provider, options)));
      const results = [...broken, ...probes];
      const isReached = name !== undefined && results.every(({ ok }) => ok);
      const trials = isReached ? await tryProvider(context, name, { model, isFull: full }) : [];
      if (json)
        sayJson(
          context,
          results.map((result) => resultJson(result, trials)),
        );
      else
        say(
          context,
          [...results.map(resultLine), ...trialLines(trials)].join('\n') || 'No providers to test.',
        );
      const isBad =
        results.some(({ ok }) => !ok) || (typeof trials !== 'string' && trials.some(({ ok }) => !ok));
      if (isBad) throw new CliError('not all providers work', EXIT.failure);
    });

function trialLines(trials: Trial[] | string): string[] {
  if (typeof trials === 'string') return [`    ${trials}`];
  return trials.map(({ what, ok, model, message, api, costUsd }) => {
    const cost = costUsd === null ? '' : `, ${usdText(costUsd)}`;
    return `${ok ? 'ok' : 'X '}  ${what} of ${model}${api === null ? '' : ` by ${api}`}: ${message}${cost}`;
  });
}

function resultLine({ name, ok, message, durationMs, way }: Probe): string {
  const through = way?.proxy && !message.includes(way.proxy.host) ? `, ${wayText(way)}` : '';
  return `${ok ? 'ok' : 'X '}  ${name}: ${message}${ok ? ` in ${duration(durationMs)}` : ''}${through}`;
}

function resultJson(
  { name, ok, message, durationMs, way, status, models }: Probe,
  trials: Trial[] | string,
): Record<string, unknown> {
  return {
    name,
    ok,
    ...wayJson(way),
    status: status ?? null,
    models: models ?? null,
    message,
    duration_ms: durationMs,
    requests:
      typeof trials === 'string'
        ? []
        : trials.map(({ costUsd, ...trial }) => ({ ...trial, cost_usd: costUsd })),
  };
}

const remove: SetUp = (command, context) =>
  command
    .command('remove <name>')
    .description('remove a provider and its stored key')
    .option(...UNASKED)
    .action(async (name, { yes }) => {
      if (!Object.hasOwn(readSettings(context).settings.providers, name)) throw unknownProvider(name);
      const hadKey = Object.hasOwn(readSecrets(context.paths.credentials), name);
      const loss = `This removes provider ${name}${hadKey ? ' and its stored key, which gw cannot show again' : ''}; its requests stay in reports.`;
      await confirmLoss(context, loss, { yes, scripted: true });
      (await openSettingsFile(context.paths.config)).delete(['providers', name]);
      if (hadKey) (await openSettingsFile(context.paths.credentials)).delete([name]);
      await announceChange(context);
      const still = knownProviders(context).providers.get(name);
      note(
        context,
        `Removed provider ${name}${hadKey ? ' and its stored key' : ''}.${still ? ` It stays available through ${still.keySource}.` : ''}`,
      );
    });

function unknownProvider(name: string): CliError {
  return new CliError(`no provider "${name}". See: gw providers list`, EXIT.notFound);
}
