import type { CloudAccount, CloudOptions } from '../cloud.ts';
import { openFrames } from './frames.ts';
import { invoked } from './invoke.ts';
import { createSigV4 } from './sigv4.ts';

/** AWS's names of regions. */
const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

/**
 * Of the surfaces, mantle alone counts tokens by Anthropic's API; CountTokens refuses inference profiles:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html
 *
 * `runtime`, which AWS recommends, and `mantle` have the messages API for Claude and chat completions for other models;
 * `invoke` reaches Claude by the older InvokeModel: https://docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html
 */
export function bedrockAccount({ settings, key }: CloudOptions): CloudAccount | string {
  const { region, profile, surface = 'runtime', baseUrl } = settings;
  if (region === undefined) return 'has no region. Run: gw providers add bedrock --region REGION';
  if (!REGION.test(region)) return `has a region "${region}", which AWS does not have`;
  const isMantle = surface === 'mantle';
  const origin =
    baseUrl ??
    (isMantle
      ? `https://bedrock-mantle.${region}.api.aws`
      : `https://bedrock-runtime.${region}.${domain(region)}`);
  const signer =
    key === undefined
      ? createSigV4({ region, service: isMantle ? 'bedrock-mantle' : 'bedrock', profile })
      : undefined;
  const signed = signer ? { signer } : {};
  return {
    baseUrl: isMantle ? `${origin}/v1` : `${origin}/openai/v1`,
    cloud: { wire: 'openai', countsInput: false, ...signed },
    claude: {
      baseUrl: `${origin}/anthropic/v1`,
      cloud: {
        wire: 'anthropic',
        countsInput: isMantle,
        ...signed,
        ...(surface === 'invoke' ? { wrap: invoked, openFrames } : {}),
      },
    },
    keySource: profile === undefined ? "AWS's default chain" : `AWS profile ${profile}`,
  };
}

const domain = (region: string): string => (region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com');
