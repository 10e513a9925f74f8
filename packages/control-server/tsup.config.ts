import { library } from '../../tsup.base.ts';

export default library({ entry: ['src/index.ts', 'src/bin/cli.ts'] });
