/** A gateway's place in a team, for ledgers that no authority ever answers. */
export const MEMBERSHIP = {
  gatewayId: 1,
  name: 'g',
  teamName: 'acme',
  token: 't',
  nonce: 'n',
  fingerprint: 'f',
  timezone: 'UTC',
  courier: 0,
};
