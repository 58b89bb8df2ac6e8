import { createBetaFilter } from '../betas.ts';
import type { CloudAccount, CloudOptions } from '../cloud.ts';
import { createEntra } from './entra.ts';

/** Chat and responses at Azure OpenAI, Claude at Foundry: https://learn.microsoft.com/azure/foundry/foundry-models/concepts/endpoints */
export function azureAccount({ settings, key }: CloudOptions): CloudAccount | string {
  const { resource, baseUrl, entra } = settings;
  if (resource === undefined && baseUrl === undefined)
    return 'has no address. Run: gw providers add azure --resource RESOURCE';
  const openai = baseUrl ?? `https://${resource}.openai.azure.com/openai/v1`;
  const signed = entra ? { signer: createEntra(openai) } : {};
  return {
    baseUrl: openai,
    cloud: { wire: 'openai', ...signed },
    claude: {
      baseUrl: foundryAt(openai),
      cloud: { wire: 'anthropic', betas: createBetaFilter(), ...signed },
    },
    keySource: key === undefined && entra ? 'Entra ID' : undefined,
  };
}

/** The Foundry of the same resource: https://learn.microsoft.com/azure/foundry/foundry-models/how-to/use-foundry-models-claude */
function foundryAt(openai: string): string {
  const { protocol, host } = new URL(openai);
  return `${protocol}//${host.replace(/\.openai\.azure\.com$/, '.services.ai.azure.com')}/anthropic/v1`;
}
