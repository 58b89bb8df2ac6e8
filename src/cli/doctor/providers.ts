import { PRESETS } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Context } from '../context.ts';
import { knownProviders } from '../providers/known.ts';
import { probeProvider } from '../providers/probe.ts';
import { broken, type Finding, ok, warning } from './check.ts';

/** Whether each provider can be reached and takes its key. */
export async function checkProviders(context: Context): Promise<Finding[]> {
  const { providers, problems } = knownProviders(context);
  const unusable = problems.map(({ name, message }) =>
    broken('providers', `${name}: ${message}`, `follow the message, or: gw providers remove ${name}`),
  );
  const tested = await Promise.all(
    [...providers.values()].map(async (provider) => {
      const { ok: works, unreachable, message } = await probeProvider(provider, context.clock.monotonic);
      if (works) return ok('providers', `${provider.name}: ${message}`);
      // A local runtime that is not running is no fault of the installation.
      const said = `${provider.name}: ${message.replace(/\. Run: .*/, '')}`;
      return provider.local
        ? warning('providers', said, `start ${provider.name}, or: gw providers remove ${provider.name}`)
        : broken('providers', said, unreachable ? connecting(provider) : additionOf(provider));
    }),
  );
  if (tested.length + unusable.length > 0) return [...unusable, ...tested];
  return [warning('providers', 'only the built-in sandbox', 'gw providers add openai')];
}

/** Its key is not at fault; whether the network or the address is cannot be told from here. */
function connecting(provider: Provider): string {
  return `check the network connection, or set another address: gw providers add ${provider.name} --base-url URL`;
}

/** What adds it once more, where its key or its address is to be another. */
function additionOf({ name, origin, basePath }: Provider): string {
  const address = `${origin}${basePath}`;
  const at = PRESETS[name]?.baseUrl === address ? '' : ` --base-url ${address}`;
  return `gw providers add ${name}${at}`;
}
