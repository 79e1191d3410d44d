#include "sampler/profile/named_builder.h"

void named_builder_copy_meta(struct named_builder *b, const struct named_meta *m)
{
	struct named_meta *to = named_builder_meta(b);

	*to = *m;
	to->event = named_builder_keep(b, m->event);
	to->unit = named_builder_keep(b, m->unit);
	to->command = named_builder_keep(b, m->command);
	to->jdk = named_builder_keep(b, m->jdk);
	to->jsampler = named_builder_keep(b, m->jsampler);
}

void named_meta_add_counts(struct named_meta *sum, const struct named_meta *m)
{
	sum->lost += m->lost;
	sum->complete += m->complete;
	sum->resynchronised += m->resynchronised;
	sum->incomplete += m->incomplete;
	sum->frozen += m->frozen;
	sum->no_record += m->no_record;
	for (size_t i = 0; i < sizeof(sum->exactness) / sizeof(sum->exactness[0]); i++)
		sum->exactness[i] += m->exactness[i];
}
