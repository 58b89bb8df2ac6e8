/**
 * Prefix of the signature or encrypted content of reasoning that gw translated. No provider can read it, so gw removes
 * such reasoning from requests that it sends without translation.
 */
export const OWN_REASONING_MARK = 'gw1.';
