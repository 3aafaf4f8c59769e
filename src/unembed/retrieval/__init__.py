"""What vectors are for: does a search still find the right documents?

`beir_folder` reads judged queries, `rank_documents` searches, `ranking_metrics` scores, `sts_pairs`
correlates with people's judgement, `neighbours_kept` needs no judgement at all.
"""
