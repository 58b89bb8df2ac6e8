import { wayText } from '../../network/way-out.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import { healthOf } from '../../reading/provider-views.ts';
import { healthText, isTroubled } from '../../terminal/request-words.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { networkOf } from '../network.ts';
import { knownProviders } from '../providers/known-providers.ts';
import { probeProvider } from '../providers/probe-provider.ts';
import { withReader } from '../with-gateway.ts';
import { broken, type Finding, ok, warning } from './check.ts';

/** Checks that each provider is reachable and accepts its key. */
export async function checkProviders(context: Context): Promise<Finding[]> {
  const { providers, problems } = knownProviders(context);
  const unusable = problems.map(({ name, message }) =>
    broken('providers', `${name}: ${message}`, `follow the message, or: gw providers remove ${name}`),
  );
  const options = { network: await networkOf(context), monotonic: context.clock.monotonic };
  const tested = await Promise.all(
    [...providers.values()].map(async (provider) => {
      const { ok: works, unreachable, message, way } = await probeProvider(provider, options);
      if (works)
        return ok('providers', `${provider.name}: ${message}${way?.proxy ? `, ${wayText(way)}` : ''}`);
      // A local runtime that is not running is not a fault of the installation.
      const failure = `${provider.name}: ${message.replace(/\. Run: .*/, '')}`;
      return provider.local
        ? warning('providers', failure, `start ${provider.name}, or: gw providers remove ${provider.name}`)
        : broken('providers', failure, unreachable ? connectionFix(provider) : addCommand(provider));
    }),
  );
  if (tested.length + unusable.length > 0) return [...unusable, ...tested, ...(await checkAnswers(context))];
  return [warning('providers', 'only the built-in sandbox', 'gw providers add openai')];
}

/** The providers whose calls of the last hour failed, or that get no requests now. */
async function checkAnswers(context: Context): Promise<Finding[]> {
  return withReader(context, async (reader) => {
    const times = createTimeFormat((await reader.calendar()).timezone);
    const all = (await reader.status()).provider_health.map(healthOf);
    return all
      .filter(isTroubled)
      .map((health) =>
        warning(
          'providers',
          `${health.provider}: ${healthText(health, times, context.clock.now())}`,
          `gw providers test ${health.provider}`,
        ),
      );
  });
}

/** The cause is the network or the address, not the key. */
function connectionFix(provider: Provider): string {
  return `check the network connection, or set another address: gw providers add ${provider.name} --base-url URL`;
}

/** The command that adds the provider again, to change its key or address. */
function addCommand({ name, origin, basePath }: Provider): string {
  const address = `${origin}${basePath}`;
  const at = PRESETS[name]?.baseUrl === address ? '' : ` --base-url ${address}`;
  return `gw providers add ${name}${at}`;
}
